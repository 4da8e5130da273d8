//! JSON for people and programs: a line for each value, but one line for each point of a series and whatever lies as deep.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// What lies deeper stands in one line.
const DEEPEST: usize = 5;

/// Writes a value, with a line break at its end.
///
/// # Errors
/// Those of the output.
pub fn write_json(mut out: impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut out, ByDepth::default()))?;
    out.write_all(b"\n")
}

#[derive(Default)]
struct ByDepth {
    depth: usize,
    is_empty: bool,
}

impl ByDepth {
    fn begin<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.is_empty = true;
        out.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        let breaks = self.depth <= DEEPEST && !self.is_empty;
        self.depth -= 1;
        self.is_empty = false;
        if breaks {
            self.new_line(out)?;
        }
        out.write_all(bracket)
    }

    fn next<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.is_empty = false;
        if !is_first {
            out.write_all(b",")?;
        }
        if self.depth <= DEEPEST {
            self.new_line(out)
        } else {
            Ok(())
        }
    }

    fn new_line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        write!(out, "\n{:width$}", "", width = 2 * self.depth)
    }
}

impl Formatter for ByDepth {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.next(out, is_first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.next(out, is_first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.depth <= DEEPEST { b": " } else { b":" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_lies_deep_stands_in_one_line() {
        let value = json!({ "arms": [{ "series": { "points": [{ "second": 1, "a": [] }, { "b": { "c": [1, 2] } }] }, "none": [] }] });
        let mut text = Vec::new();
        write_json(&mut text, &value).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "{",
                "\"arms\": [",
                "{",
                "\"none\": [],",
                "\"series\": {",
                "\"points\": [",
                "{\"a\":[],\"second\":1},",
                "{\"b\":{\"c\":[1,2]}}",
                "]",
                "}",
                "}",
                "]",
                "}"
            ]
        );
    }
}
