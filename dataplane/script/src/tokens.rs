//! Reads a script as far as it takes to tell its operators from its texts and comments. Behind the first backtick in
//! code, those in texts and comments count as well. Where Luau reads something else, the compiler refuses the script,
//! or more operators are counted here.

/// In how many places a script joins texts, or compares which is less.
pub(crate) fn joins_and_compares(source: &str) -> usize {
    let mut rest = source.as_bytes();
    let mut count = 0;
    while let [first, after @ ..] = rest {
        rest = match rest {
            [b'-', b'-', b'[', ..] => after_long(&rest[2..]).unwrap_or_else(|| after_line(rest)),
            [b'-', b'-', ..] => after_line(rest),
            [b'[', ..] => after_long(rest).unwrap_or(after),
            [quote @ (b'"' | b'\''), ..] => after_quoted(after, *quote),
            // A text with expressions in it. The controller takes none: what is counted too much is no loss.
            [b'`', ..] => return count + operators(after),
            _ => {
                let (one, after) = operator(*first, after);
                count += one;
                after
            }
        };
    }
    count
}

/// The same, with those that stand in texts and comments.
fn operators(mut text: &[u8]) -> usize {
    let mut count = 0;
    while let [first, after @ ..] = text {
        let (one, rest) = operator(*first, after);
        count += one;
        text = rest;
    }
    count
}

/// 1 if an operator that counts begins with `first`, and what is behind it.
fn operator(first: u8, after: &[u8]) -> (usize, &[u8]) {
    match (first, after) {
        (b'.', [b'.', b'.', more @ ..]) => (0, more),
        (b'.', [b'.', more @ ..]) => (1, more),
        (b'<' | b'>', _) => (1, after),
        _ => (0, after),
    }
}

fn after_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
    &text[end.unwrap_or(text.len())..]
}

/// Behind a text or comment in long brackets. `None`: there is none.
fn after_long(text: &[u8]) -> Option<&[u8]> {
    let level = text[1..].iter().take_while(|&&byte| byte == b'=').count();
    if text.get(level + 1) != Some(&b'[') {
        return None;
    }
    let end = [b"]", &text[1..=level], b"]"].concat();
    let content = &text[level + 2..];
    let end = memchr::memmem::find(content, &end).map_or(content.len(), |at| at + end.len());
    Some(&content[end..])
}

/// Behind a text that has begun with `quote`. One that does not end in its line is an error of syntax.
fn after_quoted(mut text: &[u8], quote: u8) -> &[u8] {
    loop {
        text = match text {
            [b'\\', b'\r', b'\n', rest @ ..] => rest,
            [b'\\', b'z', rest @ ..] => {
                let spaces = rest.iter().take_while(|byte| b" \t\r\n\x0b\x0c".contains(byte)).count();
                &rest[spaces..]
            }
            [b'\\', _, rest @ ..] => rest,
            [] | [b'\r' | b'\n', ..] => return text,
            [first, rest @ ..] if *first == quote => return rest,
            [_, rest @ ..] => rest,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_operators_count() {
        for (source, count) in [
            ("a = b .. c .. d", 2),
            ("if a < b and c >= d then f(...) end", 2),
            ("a == b, a ~= b", 0),
            ("-- a < b\n-- c .. d\ra<b", 1),
            ("--[[ a < b\n .. ]] x = a > b", 1),
            ("--[=[ a < b ]] .. ]=] x = a > b", 1),
            ("--[= a < b\nx = a > b", 1),
            ("--[==[ never ends <", 0),
            ("x = [[<b>x</b>]] .. [==[<b>]]]=]</b>]==]", 1),
            ("x = '<b>' .. \"<'b'>\"", 1),
            (r"x = '\'<' < '\\' < '<'", 2),
            ("x = '\\z  \n < ' < 1", 1),
            ("x = '\\\n<' < '\\\r\n<' < 1", 2),
            ("t[t[1]] = t[a<b]", 1),
            ("t[=", 0),
            ("x = `'` .. s .. s", 2),
            ("x = `--` .. s\ny = `[[` .. s", 2),
            ("x = a < b y = `{'`' .. s} <`", 3),
            ("-- `\nx = '`' .. [[`]] -- <", 1),
        ] {
            assert_eq!(joins_and_compares(source), count, "{source}");
        }
    }
}
