//! One frame of the dashboard at 120×36 with an hour of history and five arms. Run: `cargo bench --bench frame`.

#[path = "../tests/console/picture.rs"]
mod picture;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use lockstorm::console::{App, ConsoleOptions, Message, views};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

fn frame(criterion: &mut Criterion) {
    let snapshot = Arc::new(picture::full_history());
    let options = ConsoleOptions {
        colours: true,
        ..ConsoleOptions::default()
    };
    let mut app = App::new(Vec::new(), &options);
    app.launch(Box::new(snapshot.scenario.as_ref().clone()));
    app.update(Message::Snapshot(snapshot));
    let mut terminal = Terminal::new(TestBackend::new(120, 36)).expect("a test terminal");
    criterion.bench_function("frame, story", |bencher| {
        bencher.iter(|| {
            terminal
                .draw(|frame| views::render(frame, black_box(&app)))
                .map(|frame| frame.count)
        });
    });
    app.update(Message::Key(KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE)));
    criterion.bench_function("frame, charts", |bencher| {
        bencher.iter(|| {
            terminal
                .draw(|frame| views::render(frame, black_box(&app)))
                .map(|frame| frame.count)
        });
    });
}

criterion_group!(benches, frame);
criterion_main!(benches);
