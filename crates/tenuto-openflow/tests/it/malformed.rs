//! Each malformed form, and the error it is answered with.

use tenuto_openflow::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    let byte = |i: usize| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).expect("two digits");
    (0..digits.len() / 2).map(byte).collect()
}

#[track_caller]
fn refuse(bytes: &str, error: impl Into<ErrorCode>) {
    let (bytes, error) = (hex(bytes), error.into());
    let refused = Message::parse(&bytes).expect_err("malformed");
    assert_eq!(refused.error, error);
    let answer = refused.answer().expect("not an error message");
    assert_eq!(answer.xid, 0x17);
    assert_eq!(answer.body, Body::Error(ErrorMessage::new(error, &bytes)));
}

/// A flow-mod that adds an entry to table 0, with `rest` from the match on.
fn flow_mod(rest: &str) -> String {
    let rest: String = rest.split_whitespace().collect();
    format!(
        "04 0e {:04x} 00000017 0000000000000000 0000000000000000 00 00 0000 0000 0001
         ffffffff ffffffff ffffffff 0000 0000 {rest}",
        48 + rest.len() / 2
    )
}

const ANY: &str = "0001 0004 00000000";

#[test]
fn versions_and_lengths() {
    refuse("01 05 0008 00000017", BadRequest::BadVersion);
    refuse("04 05 000a 00000017 0000", BadRequest::BadLen); // a request without a body has one
    refuse("04 05 0009 00000017", BadRequest::BadLen); // shorter than it says
    refuse("04 05 0008 00000017 00", BadRequest::BadLen); // longer than it says
    refuse("04 06 0010 00000017 0000000000000001", BadRequest::BadLen); // half of the features
    refuse("04 00 000c 00000017 0001 0003", BadRequest::BadLen); // hello element below its header
    refuse("04 00 000c 00000017 0001 0008", BadRequest::BadLen); // hello element cut off
    refuse("04 18 0018 00000017 00000004 00000000 0000000000000000", RoleRequestFailed::BadRole);
}

#[test]
fn matches() {
    refuse(&flow_mod("0000 0004 00000000"), BadMatch::BadType); // OFPMT_STANDARD
    refuse(&flow_mod("0001 0003 00000000"), BadMatch::BadLen); // below its header
    refuse(&flow_mod("0001 0010 00000000"), BadMatch::BadLen); // beyond the message
    refuse(&flow_mod("0001 0006 8000 0000"), BadMatch::BadLen); // half of a field's header
    refuse(&flow_mod("0001 000c 8000 00 08 00000001 00000000"), BadMatch::BadLen); // field cut off
    refuse(&flow_mod("0001 000a 8000 00 02 0001 000000000000"), BadMatch::BadLen); // port of 2 bytes
    refuse(&flow_mod("0001 000e 8000 07 06 000000000000 0000"), BadMatch::BadLen); // mask missing
    refuse(&flow_mod("0001 0004"), BadMatch::BadLen); // padding missing
}

#[test]
fn instructions_and_actions() {
    let with = |rest: &str| flow_mod(&format!("{ANY} {rest}"));
    refuse(&with("0001 0004"), BadInstruction::BadLen); // goto-table without a table
    refuse(&with("0001 0003 00000000"), BadInstruction::BadLen); // below its header
    refuse(&with("0006 0010 00000007 00000000"), BadInstruction::BadLen); // meter too long
    refuse(&with("0006 0010 00000007"), BadInstruction::BadLen); // beyond the message
    refuse(&with("0004 0009 00000000 00"), BadInstruction::BadLen); // no list of actions is so long
    refuse(&with("0003 000c 00000000 00000000"), BadInstruction::BadLen);
    let apply = |len: &str, action: &str| with(&format!("0004 {len} 00000000 {action}"));
    refuse(&apply("0010", "0000 0008 00000001"), BadAction::BadLen); // output cut off
    refuse(&apply("0010", "0015 0010 00000001"), BadAction::BadLen); // beyond the instruction
    refuse(&apply("0010", "0015 0000 00000001"), BadAction::BadLen); // no length at all
    refuse(&apply("0010", "001b 0006 0000 0000"), BadAction::BadLen); // not aligned
    refuse(&apply("0018", "0015 0010 00000001 0000000000000000"), BadAction::BadLen); // too long
    refuse(&apply("0010", "0019 0008 8000 00 04"), BadAction::BadSetLen); // field cut off
    refuse(
        &apply("0020", "0019 0018 8000 0e 01 05 00000000000000 0000000000000000"),
        BadAction::BadSetLen, // padded by more than 7 bytes
    );
    refuse(
        "04 0d 0018 00000017 ffffffff fffffffd 0008 000000000000",
        BadRequest::BadLen, // packet-out: actions beyond the message
    );
}

#[test]
fn commands() {
    refuse(
        "04 0e 0038 00000017 0000000000000000 0000000000000000 00 05 0000 0000 0001
         ffffffff ffffffff ffffffff 0000 0000 0001 0004 00000000",
        FlowModFailed::BadCommand,
    );
    refuse("04 0f 0010 00000017 0003 00 00 00000001", GroupModFailed::BadCommand);
    refuse("04 1d 0010 00000017 0003 0001 00000001", MeterModFailed::BadCommand);
}

#[test]
fn buckets_and_bands() {
    let group_mod = |rest| format!("04 0f 0020 00000017 0000 00 00 00000001 {rest}");
    let bad_len = BadRequest::BadLen;
    refuse(&group_mod("0008 0000 00000001 ffffffff 00000000"), bad_len); // below its header
    refuse(&group_mod("0018 0000 00000001 ffffffff 00000000"), bad_len); // beyond the message
    refuse(&group_mod("0000 0000 00000001 ffffffff 00000000"), bad_len);
    let meter_mod = |rest| format!("04 1d 0020 00000017 0000 0001 00000001 {rest}");
    refuse(&meter_mod("0001 000c 00000001 00000001 00000000"), bad_len); // drop band cut off
    refuse(&meter_mod("0001 0018 00000001 00000001 00000000"), bad_len); // beyond the message
    refuse(&meter_mod("0003 0000 00000001 00000001 00000000"), bad_len);
}

#[test]
fn multipart() {
    refuse("04 12 000c 00000017 0000 0000", BadRequest::BadLen);
    refuse("04 12 0014 00000017 0000 0000 00000000 00000000", BadRequest::BadLen);
    refuse("04 13 0012 00000017 0001 0000 00000000 0000", BadRequest::BadLen); // entry of length 0
}

/// A table-features request for table 0, with `properties`.
fn table_features(properties: &str) -> String {
    let properties: String = properties.split_whitespace().collect();
    let len = 64 + properties.len() / 2;
    format!("04 12 {:04x} 00000017 000c 0000 00000000 {len:04x}{:0>124}{properties}", 16 + len, 0)
}

#[test]
fn tables_and_queues() {
    use TableFeaturesFailed as T;
    refuse("04 12 0012 00000017 000c 0000 00000000 0040", T::BadLen); // cut off
    refuse("04 12 0012 00000017 000c 0000 00000000 0000", T::BadLen); // no length at all
    refuse(&table_features("0000 0003 00000000"), T::BadLen); // below its header
    refuse(&table_features("0000 0010 00000000"), T::BadLen); // beyond the table
    refuse(&table_features("0000 0006 00010000"), T::BadLen); // half of an instruction's header
    refuse(&table_features("0000 0008 00010003"), T::BadLen); // an instruction below its header
    refuse(&table_features("0004 0008 00000005"), T::BadLen); // an action beyond the property
    refuse(&table_features("0008 0006 80000000"), T::BadLen); // half of a field's header
    refuse(&table_features("0008 0008 ffff0204"), T::BadLen); // without the experimenter's id
    refuse(&table_features("fffe 0008 00000001"), T::BadLen); // without its type
    refuse(&table_features("0000 0008 0001"), T::BadLen); // cut off
    refuse("04 09 000a 00000017 0000", SwitchConfigFailed::BadLen); // half a set-config
    refuse("04 09 000d 00000017 00000080 00", SwitchConfigFailed::BadLen); // and more than one
    refuse("04 11 000c 00000017 00000000", BadRequest::BadLen); // half a table-mod
    refuse("04 16 000c 00000017 00000001", BadRequest::BadLen); // padding missing
    refuse("04 1a 0009 00000017 00", BadRequest::BadLen); // get-async with a body
    refuse("04 1c 001c 00000017 0000000000000000 0000000000000000 00000000", BadRequest::BadLen);
    let queues = |rest: &str| {
        let rest: String = rest.split_whitespace().collect();
        format!("04 17 {:04x} 00000017 00000001 00000000 {rest}", 16 + rest.len() / 2)
    };
    let bad_len = BadRequest::BadLen;
    refuse(&queues("00000001 00000001 000f 000000000000"), bad_len); // below its header
    refuse(&queues("00000001 00000001 0018 000000000000"), bad_len); // beyond the message
    let property = |rest: &str| {
        let rest: String = rest.split_whitespace().collect();
        queues(&format!("00000001 00000001 {:04x} 000000000000 {rest}", 16 + rest.len() / 2))
    };
    refuse(&property("0001 0007 00000000"), bad_len); // below its header
    refuse(&property("0001 0008 00000000"), bad_len); // without a rate
    refuse(&property("0001 0010 00000000"), bad_len); // beyond the queue
    refuse(&property("0001 0018 00000000 0001 000000000000 0000000000000000"), bad_len);
}

#[test]
fn actions_of_the_other_encapsulations() {
    let apply = |action: &str| {
        let action: String = action.split_whitespace().collect();
        let len = 8 + action.len() / 2;
        flow_mod(&format!("{ANY} 0004 {len:04x} 00000000 {action}"))
    };
    for type_ in [11, 12, 15, 16, 19, 20, 26, 27] {
        refuse(&apply(&format!("{type_:04x} 0010 00000000 0000000000000000")), BadAction::BadLen);
    }
    // Fields of every width, one byte short.
    for (field, len) in [(1, 3), (21, 1), (26, 15), (28, 3), (31, 15), (34, 3), (37, 2), (38, 7)] {
        let match_len: usize = 8 + len;
        let zeros = match_len.next_multiple_of(8) - match_len + len;
        let oxm = format!("8000 {:02x} {len:02x} {:0>width$}", field << 1, 0, width = 2 * zeros);
        refuse(&flow_mod(&format!("0001 {match_len:04x} {oxm}")), BadMatch::BadLen);
    }
}

#[test]
fn modes() {
    let modes = |exp_type: u8, data: &str| {
        let data: String = data.split_whitespace().collect();
        format!("04 04 {:04x} 00000017 54454e55 {exp_type:08x} {data}", 16 + data.len() / 2)
    };
    refuse(&modes(2, "03 00 0000 00000001"), BadRequest::BadExpType); // monitor command
    refuse(&modes(2, "00 02 0000 00000001"), BadRequest::BadExpType); // monitor kind
    refuse(&modes(4, "0000000000000001"), BadRequest::BadLen);
    refuse(&modes(5, "00"), BadRequest::BadLen);
    refuse(&modes(1, "01 00000000000000 00"), BadRequest::BadLen); // no flow-mod
}

#[test]
fn attendre() {
    let message = |exp_type: u8, data: &str| {
        let data: String = data.split_whitespace().collect();
        format!("04 04 {:04x} 00000017 54454e55 {exp_type:08x} {data}", 16 + data.len() / 2)
    };
    let set = "0000000000000001 0000000000000002 0000000000000003 0004 000000000000";
    refuse(&message(12, "02 000000 00000000 0000000000000000"), BadRequest::BadExpType); // on?
    refuse(&message(12, "01 000000 00000000"), BadRequest::BadLen);
    refuse(&message(13, set), BadRequest::BadLen); // no flow-mod
    refuse(&message(14, set), BadRequest::BadLen); // no packet-out
    refuse(&message(15, &set[..set.len() - 2]), BadRequest::BadLen);
    refuse(&message(15, &format!("{set} 00")), BadRequest::BadLen);
    refuse(&message(16, "0000000000000001"), BadRequest::BadLen);
    refuse(&message(17, "00"), BadRequest::BadLen);
    let totals = "00".repeat(80);
    refuse(&message(18, &totals[2..]), BadRequest::BadLen);
    let buffer = "00".repeat(29) + "02" + &"00".repeat(10) + "0001000400000000";
    refuse(&message(18, &(totals + &buffer)), BadRequest::BadExpType); // phase
    // An encap action whose match is longer than the action.
    let encap = "ffff 0030 54454e55 0003 0001 00000002".to_owned()
        + &"00".repeat(24)
        + "0001 0010 00000000";
    let instruction = format!("0004 0038 00000000 {encap}");
    refuse(&flow_mod(&format!("0001 0004 00000000 {instruction}")), BadMatch::BadLen);
}

#[test]
fn a_mask_where_none_is_allowed_is_kept_for_the_switch_to_refuse() {
    let bytes = hex(&flow_mod("0001 000a 8000 11 02 2e 3f 000000000000"));
    let message = Message::parse(&bytes).expect("well-formed");
    assert_eq!(message.to_bytes(), bytes);
    let Body::FlowMod(flow_mod) = &message.body else { panic!("a flow-mod") };
    assert_eq!(flow_mod.match_.oxms[0].refusal(), Some(BadMatch::BadMask.into()));
    let later = Oxm::Unknown { class: 0x8000, field: 41, has_mask: false, payload: vec![0] };
    assert_eq!(later.refusal(), Some(BadMatch::BadField.into()));
    assert_eq!(Oxm::IpDscp(1).refusal(), None);
}

#[test]
fn an_error_message_is_never_answered() {
    let refused = Message::parse(&hex("04 01 0009 00000017 00")).expect_err("cut off");
    assert_eq!((refused.error, refused.answer()), (BadRequest::BadLen.into(), None));
}

#[test]
fn a_bad_body_costs_one_message_and_a_bad_length_the_stream() {
    let mut framer = Framer::new();
    let stream = "04 05 0008 00000001  04 05 000a 00000002 0000  04 14 0008 00000003
                  04 14 0007 00000004  04 14 0008 00000005";
    framer.push(&hex(stream)).expect("short");
    assert_eq!(framer.next(), Some(Ok(Message::new(1, Body::FeaturesRequest))));
    let refused = framer.next().expect("complete").expect_err("a body where none is");
    assert_eq!((refused.xid, refused.is_fatal()), (2, false));
    assert_eq!(framer.next(), Some(Ok(Message::new(3, Body::BarrierRequest))));
    let lost = framer.next().expect("a header").expect_err("shorter than its header");
    assert_eq!((lost.error, lost.xid), (BadRequest::BadLen.into(), 4));
    assert!(lost.is_fatal() && framer.is_lost());
    framer.push(&[0; 100]).expect("ignored");
    assert_eq!(framer.next(), None);
}

#[test]
fn the_stream_buffer_is_bounded() {
    let mut framer = Framer::new();
    let longest = Message::new(1, Body::EchoRequest(vec![0; 65_527])).to_bytes();
    framer.push(&longest[..65_534]).expect("fits");
    assert_eq!(framer.next(), None);
    framer.push(&vec![0; Framer::PUSH_BYTES_MAX]).expect("always fits then");
    assert_eq!(framer.push(&[0]), Err(Full));
    assert!(framer.next().expect("complete").is_ok());
    framer.push(&[0]).expect("there is room again");
}
