//! Brotli (RFC 7932).

use brotli::enc::{
    StandardAlloc,
    encode::{BrotliEncoderOperation, BrotliEncoderParameter, BrotliEncoderStateStruct},
};

use crate::step::{Broken, Step, Until};

/// Of 256 KiB: larger ones gain little on pages, and each encoder holds one.
const WINDOW_LOG: u32 = 18;

pub struct Brotli(BrotliEncoderStateStruct<StandardAlloc>);

impl Brotli {
    pub fn new(level: u8) -> Self {
        let quality = match level {
            0..=1 => 1,
            2..=3 => 2,
            4..=6 => 4,
            _ => 5,
        };
        let mut state = BrotliEncoderStateStruct::new(StandardAlloc::default());
        state.set_parameter(BrotliEncoderParameter::BROTLI_PARAM_QUALITY, quality);
        state.set_parameter(BrotliEncoderParameter::BROTLI_PARAM_LGWIN, WINDOW_LOG);
        Self(state)
    }

    pub fn step(&mut self, input: &[u8], room: &mut [u8], until: Until) -> Result<Step, Broken> {
        let operation = match until {
            Until::More => BrotliEncoderOperation::BROTLI_OPERATION_PROCESS,
            Until::Flush => BrotliEncoderOperation::BROTLI_OPERATION_FLUSH,
            Until::End => BrotliEncoderOperation::BROTLI_OPERATION_FINISH,
        };
        let (mut input_left, mut read) = (input.len(), 0);
        let (mut room_left, mut written) = (room.len(), 0);
        let is_well = self.0.compress_stream(
            operation,
            &mut input_left,
            input,
            &mut read,
            &mut room_left,
            room,
            &mut written,
            &mut None,
            &mut |_, _, _, _| (),
        );
        if !is_well {
            return Err(Broken);
        }
        let is_done = match until {
            Until::End => self.0.is_finished(),
            Until::More | Until::Flush => input_left == 0 && !self.0.has_more_output(),
        };
        Ok(Step { read, written, is_done })
    }
}
