//! The replacer of texts in any split of its input: it does what a plain reading of the whole content does.

use std::rc::Rc;

use proptest::prelude::*;
use weir_coding::{
    BadPair, MediaTypes, Of, Pair, Part, Replacer, Rewrite, Search, VARIABLE_SEARCH_BYTES_MAX, VARIABLE_SEARCHES_MAX,
    WINDOW_BYTES,
};
use weir_rules::{Value, Variable};

fn text(search: &[u8], replacement: &[u8]) -> Pair {
    Pair { search: Search::Text(search.into()), replacement: [Part::Text(replacement.into())].into() }
}

fn expression(search: &str, replacement: &[Part]) -> Pair {
    Pair { search: Search::Expression(search.to_owned()), replacement: replacement.into() }
}

fn part(text: &str) -> Part {
    Part::Text(text.as_bytes().into())
}

/// At each place, the first pair whose text stands there is replaced, and the next place is behind it.
fn plainly(pairs: &[(Vec<u8>, Vec<u8>)], mut content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some((first, behind)) = content.split_first() {
        match pairs.iter().find(|(search, _)| content.starts_with(search)) {
            Some((search, replacement)) => {
                out.extend_from_slice(replacement);
                content = &content[search.len()..];
            }
            None => {
                out.push(*first);
                content = behind;
            }
        }
    }
    out
}

fn rewrite_of(pairs: Vec<Pair>, variables: usize) -> Result<Rewrite, BadPair> {
    let variables = vec![Value::Variable(Variable::ClientAddress); variables];
    Rewrite::new(MediaTypes::of(["*/*"]), pairs, variables)
}

fn rewrite(pairs: Vec<Pair>) -> Rewrite {
    rewrite_of(pairs, 0).expect("sound pairs")
}

fn of_texts(pairs: &[(Vec<u8>, Vec<u8>)]) -> Rewrite {
    rewrite(pairs.iter().map(|(search, replacement)| text(search, replacement)).collect())
}

/// All that goes on now, in blocks of so many bytes.
fn write(replacer: &mut Replacer, block_bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut room = vec![0; block_bytes];
    while replacer.is_due() {
        let written = replacer.write(&mut room);
        out.extend_from_slice(&room[..written]);
    }
    out
}

fn replaced_by<'p>(mut replacer: Replacer, pieces: impl IntoIterator<Item = &'p [u8]>, block_bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        replacer.take(piece);
        out.extend(write(&mut replacer, block_bytes));
        assert!(replacer.held_bytes() <= WINDOW_BYTES, "{} bytes are held back", replacer.held_bytes());
    }
    replacer.end();
    out.extend(write(&mut replacer, block_bytes));
    assert_eq!(replacer.held_bytes(), 0);
    out
}

fn replaced<'p>(rewrite: &Rewrite, pieces: impl IntoIterator<Item = &'p [u8]>, block_bytes: usize) -> Vec<u8> {
    replaced_by(rewrite.replacer(None), pieces, block_bytes)
}

/// The same, but pieces come before all of those before have gone on.
fn replaced_late<'p>(rewrite: &Rewrite, pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    let (mut replacer, mut out) = (rewrite.replacer(None), Vec::new());
    let mut room = [0; 2];
    for piece in pieces {
        replacer.take(piece);
        let written = replacer.write(&mut room);
        out.extend_from_slice(&room[..written]);
    }
    replacer.end();
    out.extend(write(&mut replacer, 7));
    out
}

/// Of few letters, so that texts overlap.
fn letters(bytes: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(proptest::sample::select(&b"ab"[..]), bytes)
}

/// What stands between the pieces of content for expressions, and in them.
fn content(bytes: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(proptest::sample::select(&b"aab \n1"[..]), bytes)
}

/// Expressions, and what each becomes: with groups, in the way of the `regex` crate.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("a+", "<$0>"),
    ("ab", "x"),
    ("a.*b", "[$0]"),
    ("a.*?b", "[$0]"),
    (r"\ba(b*)", "$1-"),
    (r"b\b", "."),
    (r"\Bb", ";"),
    ("(a)|(b)", "$2$1!"),
    ("(?m)^[ab]+", "L"),
    ("(?m)b$", "E"),
    ("^a", "first"),
    ("b$", "last"),
    (r"(?s)a.{3}", "four"),
    (r"\s+", " "),
    ("a(?:ab)*b|a", "p"),
    ("(?i)A1?", "i"),
    ("[^a]{2,5}", "n"),
    (r"(\d)?b", "$1$1"),
];

/// The parts of a replacement that is written in the way of the `regex` crate.
fn parts(replacement: &str) -> Box<[Part]> {
    let mut parts = Vec::new();
    let mut rest = replacement;
    while let Some((before, behind)) = rest.split_once('$') {
        parts.push(part(before));
        parts.push(Part::Group(behind[..1].parse().expect("a digit")));
        rest = &behind[1..];
    }
    parts.push(part(rest));
    parts.into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn splits_change_nothing(
        pairs in proptest::collection::vec((letters(1..6), proptest::collection::vec(any::<u8>(), 0..12)), 1..5),
        pieces in proptest::collection::vec(letters(0..12), 0..8),
        block_bytes in 1_usize..9,
    ) {
        let content = pieces.concat();
        let (expected, rewrite) = (plainly(&pairs, &content), of_texts(&pairs));
        prop_assert_eq!(replaced(&rewrite, pieces.iter().map(Vec::as_slice), block_bytes), &expected[..]);
        prop_assert_eq!(replaced(&rewrite, content.chunks(1), block_bytes), &expected[..]);
        prop_assert_eq!(replaced_late(&rewrite, pieces.iter().map(Vec::as_slice)), &expected[..]);
        prop_assert_eq!(replaced(&rewrite, [&content[..]], block_bytes), expected);
    }

    #[test]
    fn expression_replaces_in_pieces_what_it_replaces_in_the_whole(
        (search, replacement) in proptest::sample::select(EXPRESSIONS),
        pieces in proptest::collection::vec(content(0..14), 0..8),
        block_bytes in 1_usize..9,
    ) {
        let content = pieces.concat();
        let regex = regex::bytes::RegexBuilder::new(search).unicode(false).build().expect("an expression");
        let braced = replacement.replace("$1", "${1}").replace("$2", "${2}").replace("$0", "${0}");
        let expected = regex.replace_all(&content, braced.as_bytes()).into_owned();
        let rewrite = rewrite(vec![expression(search, &parts(replacement))]);
        prop_assert_eq!(replaced(&rewrite, pieces.iter().map(Vec::as_slice), block_bytes), &expected[..]);
        prop_assert_eq!(replaced(&rewrite, content.chunks(1), block_bytes), &expected[..]);
        prop_assert_eq!(replaced_late(&rewrite, pieces.iter().map(Vec::as_slice)), &expected[..]);
        prop_assert_eq!(replaced(&rewrite, [&content[..]], block_bytes), expected);
    }

    /// Expressions, texts and variables together are one expression with a choice, in the order of the pairs.
    #[test]
    fn pairs_of_all_kinds_count_in_their_order(
        kinds in proptest::collection::vec((0..3, proptest::sample::select(EXPRESSIONS), letters(1..4)), 1..6),
        pieces in proptest::collection::vec(content(0..14), 0..8),
    ) {
        let content = pieces.concat();
        let (mut pairs, mut values, mut choices) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (kind, (search, _), letters)) in kinds.iter().enumerate() {
            let literal = String::from_utf8_lossy(letters).into_owned();
            let search = match kind {
                0 => Search::Expression((*search).to_owned()),
                1 => Search::Text(literal.as_bytes().into()),
                _ => Search::Variable(values.len()),
            };
            choices.push(match &search {
                Search::Expression(expression) => format!("(?P<n{at}>{expression})"),
                _ => format!("(?P<n{at}>{literal})"),
            });
            if let Search::Variable(_) = search {
                values.push(Box::from(literal.as_bytes()));
            }
            pairs.push(Pair { search, replacement: [part(&format!("<{at}>"))].into() });
        }
        let regex = regex::bytes::RegexBuilder::new(&choices.join("|")).unicode(false).build().expect("an expression");
        let number = |found: &regex::bytes::Captures<'_>| {
            let at = (0..choices.len()).find(|at| found.name(&format!("n{at}")).is_some());
            format!("<{}>", at.expect("a choice")).into_bytes()
        };
        let expected = regex.replace_all(&content, number).into_owned();
        let variables = values.len();
        let rewrite = rewrite_of(pairs, variables).expect("sound pairs");
        let values = Rc::from(values);
        let by = || rewrite.replacer(Some(&values));
        prop_assert_eq!(replaced_by(by(), pieces.iter().map(Vec::as_slice), 5), &expected[..]);
        prop_assert_eq!(replaced_by(by(), content.chunks(1), 64), &expected[..]);
        prop_assert_eq!(replaced_by(by(), [&content[..]], 3), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Longer matches are cut, or not found: in the same places, however the content is split.
    #[test]
    fn matches_as_long_as_the_window_are_found_and_longer_ones_do_not_follow_from_the_splits(
        gaps in proptest::collection::vec(0_usize..3 * WINDOW_BYTES, 1..6),
        cuts in proptest::collection::vec(1_usize..2 * WINDOW_BYTES, 1..12),
    ) {
        let content: Vec<u8> = gaps.iter().flat_map(|gap| [b"<", &b"x".repeat(*gap)[..], b">x"].concat()).collect();
        let rewrite = rewrite(vec![expression("<x*>", &[part("-")])]);
        let mut expected = Vec::new();
        for gap in &gaps {
            match gap + 2 <= WINDOW_BYTES {
                true => expected.extend_from_slice(b"-x"),
                false => expected.extend([b"<", &b"x".repeat(*gap)[..], b">x"].concat()),
            }
        }
        let mut pieces = Vec::new();
        let mut rest = &content[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, behind) = rest.split_at(rest.len().min(*cut));
            pieces.push(piece);
            rest = behind;
        }
        prop_assert!(replaced(&rewrite, pieces.iter().copied(), 1000) == expected);
        prop_assert!(replaced(&rewrite, [&content[..]], 16384) == expected);
    }
}

#[test]
fn repetition_ends_with_the_window() {
    let rewrite = rewrite(vec![expression("(?s)a.*", &[part("-")])]);
    let content = [b"a".repeat(WINDOW_BYTES + 1000), b"b".to_vec()].concat();
    for chunk in [1, 7, 4096, 6000] {
        assert_eq!(replaced(&rewrite, content.chunks(chunk), 100), b"--", "in pieces of {chunk}");
    }
}

#[test]
fn match_that_begins_early_and_ends_late_goes_before_one_within_it() {
    let rewrite = rewrite(vec![expression("(?s)a.{3}", &[part("long")]), expression("(?m)b$", &[part("short")])]);
    assert_eq!(replaced(&rewrite, [&b"b1 bbabb\n"[..]], 64), b"b1 bblong");
}

#[test]
fn only_what_may_go_on_as_a_text_is_held() {
    for pair in [text(b"http://inside", b"https://shop"), expression("http://inside", &[part("https://shop")])] {
        let mut replacer = rewrite(vec![pair]).replacer(None);
        let mut given = |piece: &str| {
            replacer.take(piece.as_bytes());
            String::from_utf8(write(&mut replacer, 100)).expect("text")
        };
        assert_eq!(given("see http"), "see ");
        assert_eq!(given("://in"), "");
        assert_eq!(given("ternet and http://inside/"), "http://internet and https://shop/");
        assert_eq!(given("end"), "end");
    }
}

/// Expressions that look at much for each byte take turns with other work.
#[test]
fn much_work_is_done_in_parts() {
    let rewrite = rewrite(vec![expression("[a-z]*[0-9]", &[part("-")])]);
    let content = [b"a".repeat(3 * WINDOW_BYTES), b"1".to_vec()].concat();
    let mut replacer = rewrite.replacer(None);
    replacer.take(&content);
    replacer.end();
    let (mut out, mut calls, mut room) = (Vec::new(), 0, vec![0; 2 * content.len()]);
    while replacer.is_due() {
        let written = replacer.write(&mut room);
        out.extend_from_slice(&room[..written]);
        calls += 1;
        assert!(replacer.worked_bytes() < 128 << 10, "{}", replacer.worked_bytes());
    }
    let cut = 3 * WINDOW_BYTES + 1 - WINDOW_BYTES;
    assert!(out == [&content[..cut], b"-"].concat() && calls > 10, "{} bytes in {calls} calls", out.len());
}

#[test]
fn variables_are_searched_for_and_written() {
    let pairs = vec![
        Pair { search: Search::Variable(0), replacement: [part("["), Part::Variable(1), part("]")].into() },
        Pair { search: Search::Text(b"who".to_vec().into()), replacement: [Part::Variable(0)].into() },
        Pair { search: Search::Expression("n(o+)".into()), replacement: [Part::Variable(1), Part::Group(1)].into() },
    ];
    let rewrite = rewrite_of(pairs, 2).expect("sound pairs");
    let given = |values: [&str; 2]| {
        let values = values.map(|value| Box::from(value.as_bytes()));
        let out = replaced_by(rewrite.replacer(Some(&Rc::from(values))), b"is who, abc: nooo".chunks(2), 3);
        String::from_utf8(out).expect("text")
    };
    assert_eq!(given(["abc", "z"]), "is abc, [z]: zooo");
    assert_eq!(given(["", ""]), "is , abc: ooo", "what is empty is not searched for");
    let long = "a".repeat(VARIABLE_SEARCH_BYTES_MAX + 1);
    assert_eq!(given([&long, "z"]), format!("is {long}, abc: zooo"));
}

#[test]
fn pairs_that_cannot_be_used_are_refused() {
    let variable = || Pair { search: Search::Variable(0), replacement: [].into() };
    let many_groups = format!("a{}[a-z]{{100}}", "()".repeat(500));
    let many = || (0..=VARIABLE_SEARCHES_MAX).map(|_| variable()).collect();
    for (pairs, pair, of, why) in [
        (vec![], None, Of::Search, "has no pairs"),
        (vec![text(b"a", b"b"), text(b"", b"c")], Some(1), Of::Search, "is empty"),
        (vec![text(b"a", b""), expression("a(", &[])], Some(1), Of::Search, "unclosed group"),
        (vec![expression(r"(a)\1", &[])], Some(0), Of::Search, "back-references are not possible"),
        (vec![expression("[\u{e9}]", &[])], Some(0), Of::Search, "Unicode not allowed here"),
        (vec![expression("b", &[]), expression("a*", &[])], Some(1), Of::Search, "matches an empty text"),
        (vec![expression(r"\b", &[])], Some(0), Of::Search, "matches an empty text"),
        (vec![expression("a{5000}", &[])], Some(0), Of::Search, "matches 5000 bytes or more"),
        (vec![expression("(a{1,1000}){1,1000}", &[])], None, Of::Search, "need more than 1048576 bytes"),
        ((0..9).map(|_| expression(&many_groups, &[])).collect(), None, Of::Search, "too long for as many groups"),
        (vec![expression("(a)", &[Part::Group(2)])], Some(0), Of::Replacement, "writes group 2: the expression has 1"),
        (
            vec![Pair { search: Search::Text((*b"a").into()), replacement: [Part::Group(0)].into() }],
            Some(0),
            Of::Replacement,
            "searches for no expression",
        ),
        (vec![expression("a", &[Part::Variable(1)])], Some(0), Of::Replacement, "names no variable"),
        (vec![Pair { search: Search::Variable(1), replacement: [].into() }], Some(0), Of::Search, "names no variable"),
        (many(), Some(VARIABLE_SEARCHES_MAX), Of::Search, "one variable too many"),
    ] {
        let bad = rewrite_of(pairs, 1).expect_err(why);
        assert!((bad.pair, bad.of) == (pair, of) && bad.why.contains(why) && !bad.why.contains('\n'), "{bad:?}");
    }
}

#[test]
fn a_hundred_long_texts_take_little_memory() {
    // Letters of all kinds, which no two texts begin with alike.
    let long = |number: usize| -> Vec<u8> { (0..1024).map(|at| (at * (number + 3) + number) as u8).collect() };
    let bytes = rewrite((0..100).map(|number| text(&long(number), b"")).collect()).bytes();
    assert!((100 * 1024..8 << 20).contains(&bytes), "{bytes} bytes");
}
