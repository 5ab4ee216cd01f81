//! The buffer of a worker: records one behind the other, until they are handed over.

use super::{Class, Draft, Others};

/// The largest record.
const RECORD_BYTES_MAX: usize = 32 << 10;

#[derive(Debug, Default)]
pub struct Buffer {
    packed: Vec<u8>,
}

impl Buffer {
    pub const BYTES_MAX: usize = 1 << 20;

    /// Takes a buffer that was handed over before, or makes one.
    pub fn of(mut packed: Vec<u8>) -> Self {
        packed.clear();
        packed.reserve_exact(Self::BYTES_MAX);
        Self { packed }
    }

    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Whether it should be handed over before its time.
    pub fn is_half_full(&self) -> bool {
        self.packed.len() >= Self::BYTES_MAX / 2
    }

    /// Whether a record of a class may come in: when the buffer fills up, those of class `All` give way first, and then
    /// the filtered ones.
    pub fn admits(&self, class: Class) -> bool {
        let filled = self.packed.len();
        match class {
            Class::All => filled < Self::BYTES_MAX / 4 * 3,
            Class::Filtered => filled < Self::BYTES_MAX / 10 * 9,
            Class::Significant => filled + RECORD_BYTES_MAX <= self.packed.capacity(),
        }
    }

    /// Packs a record without other texts, for which [`admits`](Self::admits) has said that there is room.
    #[inline(always)]
    pub fn pack(&mut self, draft: &Draft) {
        self.packed.extend_from_slice(draft.whole());
    }

    /// The same with other texts. What exceeds the largest record is cut; those who bring texts keep to limits of their own
    /// that are far below.
    pub fn pack_with(&mut self, draft: &mut Draft, mut others: Others<'_>) {
        let [before, behind] = draft.part(&mut others, RECORD_BYTES_MAX);
        self.packed.extend_from_slice(before);
        others.iter().for_each(|text| self.packed.extend_from_slice(text));
        self.packed.extend_from_slice(behind);
    }

    pub fn into_packed(self) -> Vec<u8> {
        self.packed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Spans,
        record::{Flags, Kind, Packed, Reasons, Tls, fixed::BYTES},
    };

    /// A record of which little is known.
    fn least() -> Draft {
        let mut draft = Draft::default();
        let fixed = &mut draft.fixed;
        (fixed.kind, fixed.class, fixed.weight) = (Kind::Connection, Class::Significant, 1);
        (fixed.end_unix_us, fixed.reasons) = (1, Reasons::CLIENT_TLS);
        fixed.set_ends(
            &"[2001:db8::1]:1".parse().unwrap(),
            &"[2001:db8::1]:3".parse().unwrap(),
            &"[2001:db8::2]:2".parse().unwrap(),
        );
        draft
    }

    fn full() -> Draft {
        let mut draft = Draft::default();
        let fixed = &mut draft.fixed;
        fixed.begin(20, 0b101);
        (fixed.class, fixed.method, fixed.servers_tried, fixed.weight) = (Class::Filtered, 3, 2, 7);
        fixed.flags = Flags::cut(1) | Flags::SERVER_REUSED | Flags::TLS | Flags::TRACED | Flags::SAMPLED;
        (fixed.sequence, fixed.end_unix_us) = (0x0102_0304_0506_0708, 1_795_534_980_123_456);
        fixed.reasons = Reasons::STATUS_5XX | Reasons::RETRIED;
        (fixed.service, fixed.server) = (0x0001_0002, 0x0003_0004);
        fixed.set_ends(
            &"192.0.2.7:40001".parse().unwrap(),
            &"198.51.100.1:1".parse().unwrap(),
            &"203.0.113.9:443".parse().unwrap(),
        );
        fixed.set_server_local(Some(&"10.0.0.1:50002".parse().unwrap()));
        (fixed.status, fixed.server_status, fixed.cause) = (502, 500, 24);
        fixed.tls = Tls { version: 0x0304, suite: 0x1302, group: 29, alert: 41 };
        fixed.grpc_status = 15;
        (fixed.request_bytes, fixed.response_bytes, fixed.server_response_bytes) = (1001, 2002, 3003);
        fixed.set_spans(&Spans { wait: 11_999, server_rtt: 14_001, app_response: 12_000, transfer: 13_500 });
        (fixed.client_rtt_us, fixed.client_rtt_age_ms, fixed.connect_us) = (15, 16, 17);
        fixed.trace[..3].copy_from_slice(&[1, 2, 3]);
        (fixed.trace[15], fixed.span[0], fixed.span[7]) = (16, 9, 8);
        draft
    }

    fn packed(records: &[(Draft, [&[u8]; 14])]) -> Vec<u8> {
        let mut buffer = Buffer::of(Vec::new());
        for (draft, texts) in records {
            let mut draft = draft.clone();
            let [coming @ .., _, _, _, _, _, _, _, content_type] = texts;
            draft.fill(*coming);
            draft.set_content_type(content_type);
            let others = std::array::from_fn(|at| texts[coming.len() + at]);
            match others == Others::default() {
                true => buffer.pack(&draft),
                false => buffer.pack_with(&mut draft, others),
            }
        }
        buffer.into_packed()
    }

    #[test]
    fn packs_what_others_read() {
        let texts: Vec<_> = (0..14).map(|at| vec![b'a' + at; usize::from(at) + 1]).collect();
        let all = std::array::from_fn(|at| &texts[at][..]);
        let golden = include_bytes!("../../../../api/record/testdata/records.bin");
        assert_eq!(packed(&[(full(), all), (least(), [&[]; 14])]), golden);
    }

    #[test]
    fn room_is_left_for_what_matters_most() {
        let mut buffer = Buffer::of(Vec::new());
        let mut admitted = [0, 0, 0];
        while buffer.admits(Class::Significant) {
            for (count, class) in admitted.iter_mut().zip(Class::ALL) {
                *count += usize::from(buffer.admits(class));
            }
            buffer.pack(&least());
        }
        // All but the room of the largest record, 90 % and 75 %.
        assert_eq!(admitted, [3848, 3575, 2979]);
        let packed = buffer.into_packed();
        assert!(packed.len() <= Buffer::BYTES_MAX && packed.capacity() == Buffer::BYTES_MAX);
    }

    fn text(most: usize) -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40),
            (any::<u8>(), most - 1..=most + 1).prop_map(|(byte, len)| vec![byte; len]),
        ]
    }

    fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let most = [64, 256, 128, 128, 128, 64, 253, 64, 8192, 8192, 128, 32, 512, 64];
        most.map(text).into_iter().collect::<Vec<_>>()
    }

    proptest! {
        #[test]
        fn any_texts_come_back_cut_to_their_limits(texts in texts(), sequence: u64) {
            let all = std::array::from_fn(|at| &texts[at][..]);
            let mut draft = full();
            draft.fixed.sequence = sequence;
            let packed = packed(&[(draft, all), (least(), all)]);
            let read = Packed::all(&packed).expect("what was packed can be read");
            prop_assert_eq!(read.len(), 2);
            prop_assert_eq!(read[0].sequence(), sequence);
            let most = [64, 256, 128, 128, 128, 64, 253, 64, 8192, 8192, 128, 32, 512, 64];
            for record in read {
                for (at, text) in texts.iter().enumerate() {
                    let is_cut = at < 6 || at == 13;
                    let kept = if is_cut { &text[..text.len().min(most[at])] } else { &text[..] };
                    prop_assert_eq!(record.text(at), kept);
                }
            }
        }

        #[test]
        fn texts_beyond_the_largest_record_are_cut(lengths in prop::array::uniform7(0_usize..40_000)) {
            let long = vec![b'x'; 40_000];
            let mut buffer = Buffer::of(Vec::new());
            buffer.pack_with(&mut least(), lengths.map(|len| &long[..len]));
            let packed = buffer.into_packed();
            let read = Packed::all(&packed).expect("what was packed can be read");
            prop_assert_eq!(read.len(), 1);
            prop_assert!(packed.len() <= RECORD_BYTES_MAX);
            prop_assert!(packed.len() == RECORD_BYTES_MAX || packed.len() == BYTES + lengths.iter().sum::<usize>());
        }
    }
}
