//! The replacer of texts in any split of its input: it does what a plain reading of the whole content does.

use proptest::prelude::*;
use weir_coding::{MediaTypes, Pair, Replacer, Rewrite};

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

fn replacer(pairs: &[(Vec<u8>, Vec<u8>)]) -> Replacer {
    let pairs: Vec<Pair<'_>> = pairs.iter().map(|(search, replacement)| (&search[..], &replacement[..])).collect();
    Rewrite::new(MediaTypes::of(["*/*"]), &pairs).expect("sound pairs").replacer()
}

/// All that goes on now, in blocks of so many bytes.
fn write(replacer: &mut Replacer, block_bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while replacer.is_due() {
        let mut room = vec![0; block_bytes];
        let written = replacer.write(&mut room);
        out.extend_from_slice(&room[..written]);
    }
    out
}

fn replaced<'p>(
    pairs: &[(Vec<u8>, Vec<u8>)],
    pieces: impl IntoIterator<Item = &'p [u8]>,
    block_bytes: usize,
) -> Vec<u8> {
    let (mut replacer, mut out) = (replacer(pairs), Vec::new());
    for piece in pieces {
        replacer.take(piece);
        out.extend(write(&mut replacer, block_bytes));
    }
    replacer.end();
    out.extend(write(&mut replacer, block_bytes));
    assert_eq!(replacer.held_bytes(), 0);
    out
}

/// The same, but pieces come before all of those before have gone on.
fn replaced_late<'p>(pairs: &[(Vec<u8>, Vec<u8>)], pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    let (mut replacer, mut out) = (replacer(pairs), Vec::new());
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
fn text(bytes: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(proptest::sample::select(&b"ab"[..]), bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn splits_change_nothing(
        pairs in proptest::collection::vec((text(1..6), proptest::collection::vec(any::<u8>(), 0..12)), 1..5),
        pieces in proptest::collection::vec(text(0..12), 0..8),
        block_bytes in 1_usize..9,
    ) {
        let content = pieces.concat();
        let expected = plainly(&pairs, &content);
        prop_assert_eq!(replaced(&pairs, pieces.iter().map(Vec::as_slice), block_bytes), &expected[..]);
        prop_assert_eq!(replaced(&pairs, content.chunks(1), block_bytes), &expected[..]);
        prop_assert_eq!(replaced_late(&pairs, pieces.iter().map(Vec::as_slice)), &expected[..]);
        prop_assert_eq!(replaced(&pairs, [&content[..]], block_bytes), expected);
    }
}

#[test]
fn only_what_may_go_on_as_a_text_is_held() {
    let mut replacer = replacer(&[(b"http://inside".to_vec(), b"https://shop".to_vec())]);
    let mut given = |piece: &str| {
        replacer.take(piece.as_bytes());
        String::from_utf8(write(&mut replacer, 100)).expect("text")
    };
    assert_eq!(given("see http"), "see ");
    assert_eq!(given("://in"), "");
    assert_eq!(given("ternet and http://inside/"), "http://internet and https://shop/");
    assert_eq!(given("end"), "end");
}

#[test]
fn pairs_without_a_text_are_refused() {
    assert!(Rewrite::new(MediaTypes::of(["*/*"]), &[]).is_none());
    assert!(Rewrite::new(MediaTypes::of(["*/*"]), &[(&b"a"[..], &b"b"[..]), (&b""[..], &b"c"[..])]).is_none());
}

#[test]
fn a_hundred_long_texts_take_little_memory() {
    // Letters of all kinds, which no two texts begin with alike.
    let text = |number: usize| -> Vec<u8> { (0..1024).map(|at| (at * (number + 3) + number) as u8).collect() };
    let texts: Vec<Vec<u8>> = (0..100).map(text).collect();
    let pairs: Vec<Pair<'_>> = texts.iter().map(|text| (&text[..], &b""[..])).collect();
    let bytes = Rewrite::new(MediaTypes::of(["*/*"]), &pairs).expect("sound pairs").bytes();
    assert!((100 * 1024..8 << 20).contains(&bytes), "{bytes} bytes");
}
