//! Several controllers of one network behind etcd: one leads and decides, the others follow and answer what is asked.

mod address;
mod etcd;
mod kv;
#[cfg(test)]
mod played;
mod register;
mod store;
#[cfg(test)]
mod tests;

pub use address::EtcdAddress;
pub use etcd::EtcdTls;
