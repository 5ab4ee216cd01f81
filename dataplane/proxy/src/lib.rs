pub mod buf;
pub mod io;
