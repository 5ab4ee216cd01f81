//! What must hold for any bytes given to the HTTP/1 parsers. The fuzz targets feed it with what libFuzzer finds, the
//! tests of `wire` with generated messages and the corpus.

use weir_wire::{
    Error,
    head::{FieldTable, Fields, HeadSink, Limits, Method, Name, NameSet, Version},
    http1::{Body, Framing, HeadWriter, Hop, Parsed, Request, Response, request, response},
};

pub const LIMITS: Limits = Limits { head_bytes: 2048, field_bytes: 512, fields: 16 };

/// A head by value, to be compared with another reading of it.
#[derive(PartialEq, Debug, Clone)]
struct Reading {
    start: Vec<u8>,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// How many of them go on.
    passing: usize,
    framing: Framing,
    keep_alive: bool,
    host: Option<Vec<u8>>,
}

type Outcome = Result<Option<(Reading, usize)>, Error>;

/// Returns whether `input` begins with a whole request head.
pub fn check_request(input: &[u8]) -> bool {
    check_head(input, |input| {
        outcome(request(input, &LIMITS, &mut FieldTable::new()), |request| (of_request(request), request.len))
    })
}

/// Returns whether `input` begins with a whole response head.
pub fn check_response(input: &[u8]) -> bool {
    [Method::Get, Method::Head].map(|method| check_response_to(method, input)).contains(&true)
}

fn check_response_to(method: Method, input: &[u8]) -> bool {
    check_head(input, |input| {
        outcome(response(input, method, &LIMITS, &mut FieldTable::new()), |response| {
            (of_response(response), response.len)
        })
    })
}

/// Prefixes of a head are heads that have not ended yet, and what was read of it reads the same when it is written again.
fn check_head(input: &[u8], read: impl Fn(&[u8]) -> Outcome) -> bool {
    let whole = read(input);
    check_prefixes(input, &whole, &read);
    if let Ok(Some((reading, _))) = &whole {
        let again = read(&rewritten(reading));
        assert_eq!(again.map(|head| head.map(|(reading, _)| reading)), Ok(Some(reading.clone())));
    }
    matches!(whole, Ok(Some(_)))
}

/// Returns whether `input` begins with a whole chunked body.
pub fn check_chunked(input: &[u8]) -> bool {
    let whole = dechunked(input, usize::MAX);
    for piece_bytes in [1, 2, 3, 7] {
        assert_eq!(dechunked(input, piece_bytes), whole, "in pieces of {piece_bytes}");
    }
    let Ok((content, _, done)) = whole else { return false };
    if done {
        let framed = [format!("{:x}\r\n", content.len()).as_bytes(), &content, b"\r\n0\r\n\r\n"].concat();
        let framed = if content.is_empty() { b"0\r\n\r\n".to_vec() } else { framed };
        assert_eq!(dechunked(&framed, usize::MAX), Ok((content, framed.len(), true)));
    }
    done
}

/// A head is refused for what stands up to the byte that is wrong, waits while nothing is, and ignores what follows it.
fn check_prefixes(input: &[u8], whole: &Outcome, read: impl Fn(&[u8]) -> Outcome) {
    let head_bytes = match whole {
        Ok(Some((_, head_bytes))) => *head_bytes,
        _ => input.len(),
    };
    assert!(head_bytes <= LIMITS.head_bytes || !matches!(whole, Ok(Some(_))));
    assert_eq!(&read(&input[..head_bytes]), whole);
    for prefix in (0..head_bytes).step_by(1 + head_bytes / 64) {
        match read(&input[..prefix]) {
            Ok(None) => {}
            early => assert_eq!(&early, whole, "after {prefix} bytes"),
        }
    }
}

/// What concerns one connection only.
const OF_CONNECTION: NameSet = NameSet::of(&[
    Name::Connection,
    Name::KeepAlive,
    Name::ProxyConnection,
    Name::Te,
    Name::TransferEncoding,
    Name::Upgrade,
]);

/// Bytes of the trailer section that `input` begins with, if it is whole; what is written of it is what came and may go
/// on.
fn trailers(body: &mut Body, input: &[u8]) -> Result<usize, Error> {
    let Parsed::Whole(trailers) = body.trailers(input)? else { return Ok(0) };
    let section = &input[..trailers.bytes()];
    let name = |line: &[u8]| Name::of(line.split(|&byte| byte == b':').next().unwrap_or_default());
    let passing: Vec<_> =
        section.split_inclusive(|&byte| byte == b'\n').filter(|line| !OF_CONNECTION.has(name(line))).collect();
    let mut written = vec![0; section.len()];
    let bytes = trailers.write(|_| true, &mut written).expect("room");
    assert_eq!(written[..bytes], passing.concat());
    Ok(section.len())
}

/// Content, bytes taken, and whether the body ended, from reading in pieces of one length.
fn dechunked(input: &[u8], piece_bytes: usize) -> Result<(Vec<u8>, usize, bool), Error> {
    let (mut body, mut content, mut taken) = (Body::new(Framing::Chunked), Vec::new(), 0);
    let mut come = 0;
    for piece in input.chunks(piece_bytes.min(input.len().max(1))) {
        come += piece.len();
        if body.is_at_trailers() {
            taken += trailers(&mut body, &input[taken..come])?;
            continue;
        }
        let before = content.len();
        let read = body.read_payload(piece, |range| content.extend_from_slice(&piece[range]))?;
        assert_eq!(content.len() - before, read.payload);
        assert_eq!(read.done, body.is_done());
        taken += read.taken;
        if body.is_at_trailers() {
            taken += trailers(&mut body, &input[taken..come])?;
        } else if !read.done {
            assert_eq!(read.taken, piece.len());
        }
        if body.is_done() {
            break;
        }
    }
    assert!(body.is_done() || body.is_at_trailers() || taken == input.len());
    Ok((content, taken, body.is_done()))
}

fn outcome<H>(parsed: Result<Parsed<H>, Error>, reading: impl Fn(&H) -> (Reading, usize)) -> Outcome {
    parsed.map(|parsed| match parsed {
        Parsed::Partial => None,
        Parsed::Whole(head) => Some(reading(&head)),
    })
}

fn of_request(request: &Request<'_>) -> Reading {
    let head = request.head;
    Reading {
        start: [head.method_text, b" ", head.target, b" ", version(head.version)].concat(),
        fields: owned(&head.fields),
        passing: head.fields.passing().count(),
        framing: request.framing,
        keep_alive: request.keep_alive,
        host: head.host.map(<[u8]>::to_vec),
    }
}

fn of_response(response: &Response<'_>) -> Reading {
    let head = response.head;
    Reading {
        start: [version(head.version), b" ", head.status.to_string().as_bytes(), b" ", head.reason].concat(),
        fields: owned(&head.fields),
        passing: head.fields.passing().count(),
        framing: response.framing,
        keep_alive: response.keep_alive,
        host: None,
    }
}

fn owned(fields: &Fields<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    fields.iter().map(|field| (field.name_text.to_vec(), field.value.to_vec())).collect()
}

fn version(version: Version) -> &'static [u8] {
    match version {
        Version::Http10 => b"HTTP/1.0",
        Version::Http11 => b"HTTP/1.1",
    }
}

fn rewritten(reading: &Reading) -> Vec<u8> {
    let mut room = [0; 2 * LIMITS.head_bytes];
    let mut out = HeadWriter::new(&mut room, Hop::default());
    out.line(&[&reading.start, &b"\r\n"[..]].concat());
    for (name, value) in &reading.fields {
        out.field(name, [&value[..]]);
    }
    let written = out.end().expect("a head that was accepted fits twice its limit");
    room[..written].to_vec()
}
