//! What was measured: recorders on the hot path, figures of an arm, fixed-size time series, the snapshot.
