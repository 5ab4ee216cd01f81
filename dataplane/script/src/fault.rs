//! What is wrong with a script.

use std::fmt;

use mlua::Error;

/// Says script, event and line: `steer HTTP_REQ:3: attempt to index nil with 'x'`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault(String);

/// A longer text of a script's own error is cut.
const BYTES_MAX: usize = 512;

impl Fault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        let mut message = message.into();
        let end = (0..=BYTES_MAX.min(message.len())).rev().find(|at| message.is_char_boundary(*at));
        message.truncate(end.unwrap_or(0));
        Self(message)
    }

    /// `script` is the name of the script, which Lua puts before the line.
    pub(crate) fn of(error: &Error, script: &str) -> Self {
        match error {
            Error::SyntaxError { message, .. } => {
                // `3: …`, with or without a name and a colon before it.
                let line = message.find(|c: char| c.is_ascii_digit()).map_or(message.as_str(), |at| &message[at..]);
                Self::new(format!("{script}:{}", first_line(line)))
            }
            Error::RuntimeError(message) => Self::at(first_line(message), message, script),
            Error::MemoryError(_) => Self::new(format!("{script}: it needs more memory than scripts may have")),
            Error::CallbackError { traceback, cause } => {
                let mut cause = cause;
                while let Error::CallbackError { cause: inner, .. } = &**cause {
                    cause = inner;
                }
                let text = match &**cause {
                    Error::RuntimeError(message) => message.clone(),
                    Error::MemoryError(_) => return Self::of(cause, script),
                    other => other.to_string(),
                };
                Self::at(first_line(&text), traceback, script)
            }
            other => Self::new(format!("{script}: {}", first_line(&other.to_string()))),
        }
    }

    /// `trace` may tell the line.
    fn at(message: &str, trace: &str, script: &str) -> Self {
        let begins = |text: &str| text.strip_prefix(script).is_some_and(|rest| rest.starts_with(':'));
        if begins(message) {
            return Self::new(message);
        }
        let place = trace.lines().map(str::trim).find(|line| begins(line)).unwrap_or(script);
        let line = place[script.len()..].trim_start_matches(':');
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        match &line[..digits] {
            "" => Self::new(format!("{script}: {message}")),
            line => Self::new(format!("{script}:{line}: {message}")),
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
