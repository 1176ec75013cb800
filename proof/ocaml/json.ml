(* A reader of JSON, as much as plans have of it. *)
type t = Null | Bool of bool | Int of Z.t | Text of string | List of t list | Object of (string * t) list

exception Wrong of string

let parse (s : string) : t =
  let at = ref 0 in
  let fail what = raise (Wrong (Printf.sprintf "byte %d: %s" !at what)) in
  let peek () = if !at < String.length s then s.[!at] else '\000' in
  let rec blank () = match peek () with ' ' | '\n' | '\t' | '\r' -> incr at; blank () | _ -> () in
  let expect c = if peek () = c then incr at else fail (Printf.sprintf "%c expected" c) in
  let word w v = if !at + String.length w <= String.length s && String.sub s !at (String.length w) = w
    then (at := !at + String.length w; v) else fail "a value expected" in
  let text () =
    expect '"';
    let b = Buffer.create 16 in
    let rec go () = match peek () with
      | '"' -> incr at
      | '\000' -> fail "a string without an end"
      | '\\' ->
        incr at;
        (match peek () with
         | 'n' -> Buffer.add_char b '\n' | 't' -> Buffer.add_char b '\t' | 'r' -> Buffer.add_char b '\r'
         | 'u' -> Buffer.add_string b ("\\u" ^ String.sub s (!at + 1) 4); at := !at + 4
         | c -> Buffer.add_char b c);
        incr at; go ()
      | c -> Buffer.add_char b c; incr at; go () in
    go (); Buffer.contents b in
  let number () =
    let from = !at in
    if peek () = '-' then incr at;
    while (match peek () with '0' .. '9' -> true | _ -> false) do incr at done;
    (match peek () with '.' | 'e' | 'E' -> fail "numbers of a plan are whole" | _ -> ());
    if !at = from then fail "a value expected";
    Int (Z.of_string (String.sub s from (!at - from))) in
  let rec value depth =
    if depth > 64 then fail "too deep";
    blank ();
    match peek () with
    | '{' -> incr at; blank (); if peek () = '}' then (incr at; Object []) else Object (fields depth [])
    | '[' -> incr at; blank (); if peek () = ']' then (incr at; List []) else List (values depth [])
    | '"' -> Text (text ())
    | 't' -> word "true" (Bool true)
    | 'f' -> word "false" (Bool false)
    | 'n' -> word "null" Null
    | _ -> number ()
  and fields depth seen =
    blank ();
    let name = text () in
    blank (); expect ':';
    let v = value (depth + 1) in
    blank ();
    if List.mem_assoc name seen then fail ("the field " ^ name ^ " twice");
    match peek () with
    | ',' -> incr at; fields depth ((name, v) :: seen)
    | '}' -> incr at; List.rev ((name, v) :: seen)
    | _ -> fail ", or } expected"
  and values depth seen =
    let v = value (depth + 1) in
    blank ();
    match peek () with
    | ',' -> incr at; values depth (v :: seen)
    | ']' -> incr at; List.rev (v :: seen)
    | _ -> fail ", or ] expected" in
  let v = value 0 in
  blank ();
  if !at < String.length s then fail "more behind the end";
  v

let field name = function
  | Object fields ->
    (match List.assoc_opt name fields with Some v -> v | None -> raise (Wrong ("no field " ^ name)))
  | _ -> raise (Wrong ("no object with the field " ^ name))
let field_or name default = function
  | Object fields -> (match List.assoc_opt name fields with Some v -> v | None -> default)
  | _ -> default
let int = function Int z -> z | _ -> raise (Wrong "a number expected")
let text = function Text s -> s | _ -> raise (Wrong "a string expected")
let list = function List l -> l | _ -> raise (Wrong "a list expected")
let bool = function Bool b -> b | _ -> raise (Wrong "true or false expected")
let small v = Z.to_int (int v)
