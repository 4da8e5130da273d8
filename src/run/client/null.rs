//! A client that does nothing: what is measured with it is the cost of the pipe.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use serde_json::{Value, json};

/// How much is read at once, in bytes.
const BATCH: usize = 1 << 16;

/// Grants everything that is asked for, in batches, until the input ends. As a lock it must fail.
///
/// # Errors
/// An order is no JSON, or reading or writing fails.
pub fn null(input: impl Read, output: impl Write) -> io::Result<()> {
    let mut input = BufReader::with_capacity(BATCH, input);
    let mut output = BufWriter::new(output);
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let order: Value = serde_json::from_slice(&line)?;
        line.clear();
        let answer = match order["op"].as_str() {
            Some("start") => {
                json!({"op": "started", "name": "null", "version": env!("CARGO_PKG_VERSION"), "language": "rust", "can": ["renew"]})
            }
            Some("acquire") => json!({"id": order["id"], "is": "held"}),
            Some("release") => json!({"id": order["id"], "is": "released"}),
            _ => continue,
        };
        writeln!(output, "{answer}")?;
        if !input.buffer().contains(&b'\n') {
            output.flush()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_order_is_answered_and_the_end_is_silent() {
        let orders = "{\"op\":\"start\"}\n{\"op\":\"acquire\",\"id\":7}\n{\"op\":\"release\",\"id\":8,\"of\":7}\n{\"op\":\"stop\"}\n";
        let mut said = Vec::new();
        null(orders.as_bytes(), &mut said).expect("orders are JSON");
        let said = String::from_utf8(said).expect("JSON is text");
        let answers: Vec<Value> = said
            .lines()
            .map(|line| serde_json::from_str(line).expect("answers are JSON"))
            .collect();
        assert_eq!(answers[0]["name"], "null");
        assert_eq!(
            answers[1..],
            [json!({"id": 7, "is": "held"}), json!({"id": 8, "is": "released"})]
        );
        assert!(null(&b"hello\n"[..], io::sink()).is_err());
    }
}
