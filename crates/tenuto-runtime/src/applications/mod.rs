//! Reactive applications, live: sessions of switches around one application, and applications in Python.

mod news;
mod python;
mod recorder;
mod server;
mod worker;

pub use news::AppNews;
pub use python::PythonApp;
pub use recorder::Recorder;
pub use server::{AppServer, AppSettings, AppSummary};
