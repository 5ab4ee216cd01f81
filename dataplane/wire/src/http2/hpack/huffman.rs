//! The Huffman code of HPACK (RFC 7541 §5.2, appendix B). The decoder takes four bits at a time: a table that the compiler
//! makes says for each state and each four bits which symbol is complete and what the next state is.

use super::Malformed;

/// The bits of each symbol's code; the last symbol is EOS. The code is canonical: shorter codes come first, and among
/// equally long ones the smaller symbol.
#[rustfmt::skip]
const BITS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
const EOS: usize = 256;
const LONGEST: u8 = 30;
/// The shortest code has five bits, so that four never complete two symbols.
const STEP_BITS: u8 = 4;

/// The states: the inner nodes of the tree of codes.
const STATES: usize = 256;
const ROOT: u16 = 0;
/// In a tree, a node that is a symbol and no inner node.
const LEAF: u16 = 0x8000;

#[derive(Clone, Copy)]
struct Step {
    next: u8,
    symbol: u8,
    /// Symbols that are complete: none or one.
    symbols: u8,
    end: End,
}

/// Whether a string may end behind these bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// All of them belong to symbols, or are padding: fewer than eight bits, all of them 1.
    Good,
    /// Amid a symbol.
    Amid,
    /// Four bits that no code has here, or those of EOS, which no string contains.
    Wrong,
}

static STEPS: [[Step; 1 << STEP_BITS]; STATES] = steps();

/// The tree: for each inner node, where a 0 and a 1 lead.
const fn tree() -> [[u16; 2]; STATES] {
    let mut nodes = [[ROOT; 2]; STATES];
    let (mut made, mut code, mut bits) = (1, 0u32, 1);
    while bits <= LONGEST {
        let mut symbol = 0;
        while symbol < BITS.len() {
            if BITS[symbol] == bits {
                let (mut node, mut at) = (0, bits);
                while at > 1 {
                    at -= 1;
                    let bit = (code >> at & 1) as usize;
                    if nodes[node][bit] == ROOT {
                        nodes[node][bit] = made;
                        made += 1;
                    }
                    node = nodes[node][bit] as usize;
                }
                nodes[node][(code & 1) as usize] = LEAF | symbol as u16;
                code += 1;
            }
            symbol += 1;
        }
        code <<= 1;
        bits += 1;
    }
    assert!(made as usize == STATES);
    nodes
}

const fn steps() -> [[Step; 1 << STEP_BITS]; STATES] {
    let nodes = tree();
    let padding = paddings(&nodes);
    let mut steps = [[Step { next: 0, symbol: 0, symbols: 0, end: End::Wrong }; 1 << STEP_BITS]; STATES];
    let mut state = 0;
    while state < STATES {
        let mut bits = 0;
        while bits < 1 << STEP_BITS {
            steps[state][bits] = step(&nodes, &padding, state, bits);
            bits += 1;
        }
        state += 1;
    }
    steps
}

const fn step(nodes: &[[u16; 2]; STATES], padding: &[bool; STATES], state: usize, bits: usize) -> Step {
    let (mut node, mut symbol, mut symbols, mut at) = (state, 0, 0, STEP_BITS);
    while at > 0 {
        at -= 1;
        let next = nodes[node][bits >> at & 1];
        if next == LEAF | EOS as u16 {
            return Step { next: 0, symbol: 0, symbols: 0, end: End::Wrong };
        }
        if next & LEAF != 0 {
            (symbol, symbols, node) = (next as u8, 1, ROOT as usize);
        } else {
            node = next as usize;
        }
    }
    Step { next: node as u8, symbol, symbols, end: if padding[node] { End::Good } else { End::Amid } }
}

/// The states that fewer than eight bits lead to, all of them 1.
const fn paddings(nodes: &[[u16; 2]; STATES]) -> [bool; STATES] {
    let mut padding = [false; STATES];
    let (mut node, mut bits) = (ROOT as usize, 0);
    while bits < 8 {
        padding[node] = true;
        node = nodes[node][1] as usize;
        bits += 1;
    }
    padding
}

/// Appends the text of a coded string.
pub(super) fn decode(coded: &[u8], text: &mut Vec<u8>) -> Result<(), Malformed> {
    let start = text.len();
    // One symbol has at least five bits. One more byte takes what a step without a symbol writes.
    text.resize(start + coded.len() * 8 / 5 + 1, 0);
    let room = &mut text[start..];
    let (mut state, mut len, mut end) = (usize::from(ROOT), 0, End::Good);
    for byte in coded {
        for bits in [byte >> 4, byte & 0xf] {
            let step = STEPS[state][usize::from(bits)];
            if step.end == End::Wrong {
                return Err(Malformed::Huffman);
            }
            room[len] = step.symbol;
            len += usize::from(step.symbols);
            (state, end) = (usize::from(step.next), step.end);
        }
    }
    text.truncate(start + len);
    if end == End::Good { Ok(()) } else { Err(Malformed::Huffman) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code of a symbol, from the definition of a canonical code.
    fn code(symbol: usize) -> (u32, u8) {
        let mut order: Vec<usize> = (0..BITS.len()).collect();
        order.sort_by_key(|&symbol| (BITS[symbol], symbol));
        let (mut code, mut bits) = (0u32, BITS[order[0]]);
        for at in order {
            code <<= BITS[at] - bits;
            bits = BITS[at];
            if at == symbol {
                break;
            }
            code += 1;
        }
        (code, bits)
    }

    /// Codes symbols, and fills the last byte with bits of `padding`.
    fn coded(symbols: &[usize], padding: u8) -> Vec<u8> {
        let mut bits: Vec<bool> = Vec::new();
        for &symbol in symbols {
            let (code, len) = code(symbol);
            bits.extend((0..len).rev().map(|at| code >> at & 1 == 1));
        }
        while !bits.len().is_multiple_of(8) {
            bits.push(padding == 1);
        }
        bits.chunks(8).map(|byte| byte.iter().fold(0, |byte, &bit| byte << 1 | u8::from(bit))).collect()
    }

    fn decoded(coded: &[u8]) -> Result<Vec<u8>, Malformed> {
        let mut text = b"before".to_vec();
        decode(coded, &mut text).map(|()| text.split_off(6))
    }

    #[test]
    fn codes_are_those_of_the_standard() {
        for (symbol, is) in [(0, (0x1ff8, 13)), (10, (0x3fff_fffc, 30)), (32, (0x14, 6)), (48, (0, 5))] {
            assert_eq!(code(symbol), is);
        }
        for (symbol, is) in [(90, (0xfd, 8)), (128, (0xf_ffe6, 20)), (255, (0x3ff_ffee, 26)), (EOS, (0x3fff_ffff, 30))]
        {
            assert_eq!(code(symbol), is);
        }
    }

    #[test]
    fn decodes_every_symbol_in_every_place() {
        for symbol in 0..EOS {
            for before in 0..8 {
                let mut symbols = vec![usize::from(b'0'); before];
                symbols.push(symbol);
                let want: Vec<u8> = symbols.iter().map(|&symbol| symbol as u8).collect();
                assert_eq!(decoded(&coded(&symbols, 1)), Ok(want));
            }
        }
        assert_eq!(decoded(&[]), Ok(Vec::new()));
    }

    #[test]
    fn refuses_eos_and_wrong_padding() {
        assert_eq!(decoded(&coded(&[EOS], 1)), Err(Malformed::Huffman));
        assert_eq!(decoded(&coded(&[usize::from(b'0')], 0)), Err(Malformed::Huffman));
        // Eight bits of padding, also behind a symbol of eight bits.
        assert_eq!(decoded(&[0xff]), Err(Malformed::Huffman));
        assert_eq!(decoded(&[0xfd, 0xff]), Err(Malformed::Huffman));
        assert_eq!(decoded(&[0xfd]), Ok(b"Z".to_vec()));
    }
}
