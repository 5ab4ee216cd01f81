//! A server that speaks HTTP/2.

use weir_api::dataplane::v1::{Http2ToServers, Plan};
use weir_proxy::io::Conn;
use weir_wire::{
    head::{FieldTable, HeadSink, Limits},
    http2::{Code, Config, Connection, Event as Came, Role, Settings, hpack::Encoder},
};

use crate::{
    GET,
    tape::{Stage, plan},
};

const LIMITS: Limits = Limits { head_bytes: 8192, field_bytes: 4096, fields: 64 };

pub fn to_http2(mut plan: Plan) -> Plan {
    plan.pools[0].http2 = Some(Http2ToServers::default());
    plan
}

pub fn stage(servers: usize) -> Stage {
    Stage::new(&to_http2(plan(servers)))
}

/// A server of HTTP/2 on one connection.
pub struct Origin {
    pub connection: Connection<()>,
    pub conn: Conn,
    heard: Vec<String>,
}

impl Origin {
    /// Takes the connection that was begun last, and tells its settings.
    pub fn accept(stage: &mut Stage, settings: Settings) -> Self {
        let mut origin = Self::silent(stage, settings);
        origin.says(stage, &[]);
        origin
    }

    /// The same without settings.
    pub fn silent(stage: &mut Stage, settings: Settings) -> Self {
        let config = Config { settings, window: 1 << 20, head_bytes: 8192, control_frames: 0, empty_frames: 0 };
        let conn = stage.connected();
        let mut origin = Self { connection: Connection::new(Role::Server, config, 0), conn, heard: Vec::new() };
        origin.hears(stage);
        origin
    }

    pub fn new(stage: &mut Stage) -> Self {
        Self::accept(stage, Settings::default())
    }

    /// Sends its control frames, and these bytes behind them.
    pub fn says(&mut self, stage: &mut Stage, bytes: &[u8]) {
        let all = [&std::mem::take(self.connection.control())[..], bytes].concat();
        let events = all.chunks(Stage::BLOCK_BYTES).map(|part| stage.data(self.conn, part)).collect();
        stage.batch(events);
        self.hears(stage);
    }

    /// The bytes of the head of a response.
    pub fn head(&mut self, id: u32, status: u16, fields: &[(&str, &str)], is_all: bool) -> Vec<u8> {
        let mut out = vec![0; 8192];
        let written = self.connection.write_head(&mut out, id, is_all, |room| {
            let mut encoder = Encoder::response(room);
            encoder.status(status, b"");
            fields.iter().for_each(|(name, value)| encoder.field(name.as_bytes(), [value.as_bytes()]));
            encoder.end()
        });
        out.truncate(written.expect("room"));
        out
    }

    pub fn content(&mut self, id: u32, content: &[u8], is_all: bool) -> Vec<u8> {
        [&self.connection.data(id, content.len() as u32, is_all)[..], content].concat()
    }

    /// The bytes of trailers, which end a stream.
    pub fn trailers(&mut self, id: u32, name: &str, value: &str) -> Vec<u8> {
        let mut out = vec![0; 100];
        let written = self.connection.write_head(&mut out, id, true, |room| {
            let mut encoder = Encoder::trailers(room);
            encoder.field(name.as_bytes(), [value.as_bytes()]);
            encoder.end()
        });
        out.truncate(written.expect("room"));
        out
    }

    pub fn answers(&mut self, stage: &mut Stage, id: u32, content: &str) {
        let head = self.head(id, 200, &[("content-length", &content.len().to_string())], content.is_empty());
        let content = if content.is_empty() { Vec::new() } else { self.content(id, content.as_bytes(), true) };
        self.connection.end(id, Code::NoError);
        self.says(stage, &[head, content].concat());
    }

    pub fn resets(&mut self, stage: &mut Stage, id: u32, code: Code) {
        self.connection.end(id, code);
        self.says(stage, &[]);
    }

    /// Takes what has come.
    pub fn hears(&mut self, stage: &mut Stage) {
        let piece = stage.sent_bytes(self.conn);
        let mut at = 0;
        loop {
            let told = match self.connection.take(&piece, &mut at, 0).expect("it keeps the standard") {
                Came::More => return,
                Came::Head { stream, is_all } => {
                    let mut table = FieldTable::new();
                    let request = self.connection.request(&piece, &LIMITS, &mut table).expect("a head");
                    let head = request.head;
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let line = |name: &[u8], value: &[u8]| format!("{}: {}; ", text(name), text(value));
                    let lines: String = head.fields.iter().map(|field| line(field.name_text, field.value)).collect();
                    let (method, path) =
                        (String::from_utf8_lossy(head.method_text), String::from_utf8_lossy(head.path));
                    format!("{stream}: {method} {path} {lines}{}", if is_all { "all" } else { "" })
                }
                Came::Trailers { stream } => {
                    let mut table = FieldTable::new();
                    let fields = self.connection.trailers(&piece, &LIMITS, &mut table).expect("trailers");
                    let names: Vec<_> = fields.iter().map(|field| String::from_utf8_lossy(field.name_text)).collect();
                    format!("{stream}: trailers {}", names.join(", "))
                }
                Came::Data { stream, content, is_all } => {
                    self.connection.give_back(stream, content.len() as u32);
                    let text = String::from_utf8_lossy(&piece[content]).into_owned();
                    format!("{stream}: {text:?}{}", if is_all { ", all" } else { "" })
                }
                Came::Reset { stream, code } => {
                    self.connection.end(stream, Code::NoError);
                    format!("{stream}: {code:?}")
                }
                Came::GoAway { code, .. } => format!("goes away: {code:?}"),
                Came::Room { .. } | Came::Priority { .. } => continue,
            };
            self.heard.push(told);
        }
    }

    pub fn heard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.heard)
    }
}

/// A stage with an established connection that carries nothing.
pub fn ready(settings: Settings) -> (Stage, Origin) {
    let mut stage = stage(1);
    let client = stage.client();
    stage.says(client, GET);
    let mut origin = Origin::accept(&mut stage, settings);
    origin.answers(&mut stage, 1, "ok");
    origin.heard();
    stage.sent(client);
    (stage, origin)
}

pub fn asks(stage: &mut Stage, text: &str) -> Conn {
    let client = stage.client();
    stage.says(client, text);
    client
}
