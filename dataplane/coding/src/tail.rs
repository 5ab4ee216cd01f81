//! A few bytes that wait for room.

#[derive(Default)]
pub(crate) struct Tail {
    bytes: [u8; 16],
    at: u8,
    end: u8,
}

impl Tail {
    /// Of 16 bytes at most.
    pub fn of(text: &[u8]) -> Self {
        let mut bytes = [0; 16];
        bytes[..text.len()].copy_from_slice(text);
        Self { bytes, at: 0, end: text.len() as u8 }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.at.into()..self.end.into()]
    }

    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    pub fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// Writes as much as there is room for. Returns how much that was.
    pub fn write(&mut self, room: &mut [u8]) -> usize {
        let bytes = self.len().min(room.len());
        room[..bytes].copy_from_slice(&self.bytes()[..bytes]);
        self.at += bytes as u8;
        bytes
    }
}
