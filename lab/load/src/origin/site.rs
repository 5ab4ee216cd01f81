//! What is answered at an address.

use crate::block::Blocks;

/// The path of requests that get no answer.
pub const WAIT: &[u8] = b"/wait";

/// All that is said there is made once.
pub struct Site {
    pub name: String,
    pub object: Vec<u8>,
    pub http1: Vec<u8>,
    pub block: Vec<u8>,
    pub grpc_block: Vec<u8>,
}

/// How a connection goes on.
#[derive(PartialEq, Eq, Debug)]
pub enum Goes {
    On,
    /// As a WebSocket, with what came behind the request.
    Upgraded(Vec<u8>),
    Over,
}

impl Site {
    pub fn new(name: String, object_bytes: usize) -> Self {
        let object = vec![b'x'; object_bytes];
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nX-Origin: {name}\r\nContent-Length: {object_bytes}\r\n\r\n"
        );
        let length = object_bytes.to_string();
        let plain = [(":status", "200"), ("content-type", "application/octet-stream"), ("content-length", &length)];
        let grpc = [(":status", "200"), ("content-type", "application/grpc")];
        let named = |fields: &[(&str, &str)]| block(&[fields, &[("x-origin", &name)]].concat());
        Self {
            http1: [head.as_bytes(), &object].concat(),
            block: named(&plain),
            grpc_block: named(&grpc),
            object,
            name,
        }
    }
}

/// A block that depends on no table.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let owned: Vec<_> = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Blocks::new(&owned).plain
}
