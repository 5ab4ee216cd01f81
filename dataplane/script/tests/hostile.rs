//! Scripts that want to keep the worker, or its memory. Each ends with a fault of its own, and the next script runs as if
//! it had not been there.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use weir_script::{BODY_BYTES_MAX, Event, Script, ScriptSet, Scripts, Served};

/// A worker stands still for no longer.
const STILL_MAX: Duration = Duration::from_millis(25);

fn set(source: &str) -> Arc<Served> {
    set_of(&[source])
}

/// Runs a script; returns how long the worker stood still, and the fault.
fn run(scripts: &mut Scripts, set: &Arc<Served>) -> (Duration, String) {
    let event = set.sets[0].scripts[0].event;
    let mut seen = scripts.room();
    if matches!(event, Event::RequestData | Event::ResponseData) {
        seen.body = vec![b'a'; BODY_BYTES_MAX];
    }
    let since = Instant::now();
    let ran = scripts.run(set, event, &mut seen);
    scripts.give_back(seen);
    (since.elapsed(), ran.fault.map(|fault| fault.to_string()).unwrap_or_default())
}

/// A busy machine delays a test now and then: the best of some runs is what the script itself takes. Time may end a run
/// before it reaches another bound.
fn check(source: &str, fault: &str) {
    check_at(Event::Request, source, fault);
}

fn check_at(event: Event, source: &str, fault: &str) {
    let (mut scripts, set) = (Scripts::default(), set_at(event, &[source]));
    let mut runs: Vec<(Duration, String)> = Vec::new();
    let is_good = |(took, found): &(Duration, String)| found.contains(fault) && *took < STILL_MAX;
    while runs.len() < 5 || (runs.len() < 50 && !runs.iter().any(is_good)) {
        runs.push(run(&mut scripts, &set));
        let found = &runs[runs.len() - 1].1;
        assert!(found.contains(fault) || found.contains(TIME), "{source}\n  wanted {fault:?}\n  found  {found:?}");
    }
    assert!(runs.iter().any(|run| run.1.contains(fault)), "{source}\n  wanted {fault:?}\n  found  {TIME:?}");
    let quickest = runs.iter().map(|run| run.0).min().expect("some runs");
    let (begins, ends) = (&source[..source.len().min(90)], &source[source.len().saturating_sub(20)..]);
    println!("{:>8.2} ms {begins} … {ends} {}", quickest.as_secs_f64() * 1e3, runs[0].1);
    assert!(quickest < STILL_MAX, "{source}\n  took {quickest:?}");
    let (_, after) = run(&mut scripts, &crate::set("local s = ('x'):rep(100000) avi.vs.log(#s)"));
    assert_eq!(after, "", "after {source}");
}

const STEPS: &str = "it has used up its";
const TIME: &str = "it has used up its 18 ms";
const MEMORY: &str = "more memory than scripts may have";

#[test]
fn endless_loops_end() {
    for source in [
        "while true do end",
        "repeat until false",
        "for i = 1, 1e18 do end",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error) end",
        "local function f() pcall(f) pcall(f) end f()",
        "local function f() xpcall(f, f) xpcall(f, f) end f()",
        "while true do avi.vs.log('x') end",
        "while true do pcall(avi.http.get_path) end",
        "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) while true do pcall(function() return t[1] end) end",
        "local t = setmetatable({}, {__newindex = function(t, k, v) t[k + 1] = v end}) while true do pcall(function() t[1] = 1 end) end",
        "for a in function() return 1 end do end",
    ] {
        check(source, STEPS);
    }
}

#[test]
fn patterns_end() {
    for source in [
        "string.rep('a', 60):find(('a*'):rep(6) .. 'b')",
        "string.rep('a', 200000):find('a*b')",
        "string.rep('a', 200000):find('.-b')",
        "string.rep('a', 200000):match(('.*'):rep(20) .. 'b')",
        "while true do string.rep('(', 100000):find('%b()') end",
        "for _ in string.gmatch(string.rep('a ', 100000), '%a+') do string.rep('a', 100000):find('a*b') end",
        "string.rep('ab', 100000):gsub('.', function() while true do end end)",
    ] {
        check(source, STEPS);
    }
}

#[test]
fn sets_of_patterns_take_no_longer_than_they_may() {
    const SET: &str = "a pattern with a set is too long";
    let (text, set) = ("string.rep('a', 100000)", "'[' .. string.rep('b', 100000) .. 'a]+'");
    for call in ["find", "match", "gmatch", "gsub"] {
        check(&format!("{text}:{call}({set} .. 'c', 1)"), SET);
    }
    check(&format!("local s = {text} for i = 1, 1e9 do s:find('[bcda]*z') end"), STEPS);
    check("assert(('a-b_c'):gsub('[-_]', '.') == 'a.b.c') assert(('x=1'):match('(%w)=') == 'x')", "");
    check("local n = 0 for w in ('a b c'):gmatch('[abc]') do n += 1 end assert(n == 3)", "");
    check("assert(string.gsub(123, '%d', function(d) return d + 1 end, 2) == '233')", "");
}

#[test]
fn plain_searches_take_as_long_as_their_texts() {
    let texts = "local a, b = string.rep('a', 400000), string.rep('a', 200000) .. 'b'";
    for call in ["a:find(b, 1, true)", "a:find(b)", "a:split(b)", "string.contains(a, b)", "a == b"] {
        check(&format!("{texts} local x = {call}"), "");
    }
}

#[test]
fn memory_has_an_end() {
    for source in [
        "local s = 'x' while true do s = s .. s end",
        "local t = {} for i = 1, 1e9 do t[i] = {} end",
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "local t = {} for i = 1, 1e9 do t['k' .. i] = i end",
        "string.rep('x', 1e9)",
        "table.concat(table.create(100000, string.rep('x', 1000)))",
        "string.format('%s%s', string.rep('x', 1e6), string.rep('x', 1e6)):rep(10)",
        "for i = 1, 1e9 do _x = _x and _x .. _x or 'x' end",
        "string.rep('ab', 400000):gsub('a', string.rep('b', 1000))",
        "local t = {} for i = 1, 1e6 do t[i] = function() return i end end",
    ] {
        check(source, MEMORY);
    }
    check("string.rep(string.rep('x', 1e5), 1e5)", "resulting string too large");
    check("while true do pcall(string.rep, 'x', 1e9) end", STEPS);
    check("while true do pcall(string.rep, 'x', 5e5) end", STEPS);
    check("while true do local s = string.rep('a', 300000):upper() end", "");
}

#[test]
fn bodies_take_no_longer_than_they_may_and_no_more_memory() {
    for (event, read) in
        [(Event::RequestData, "avi.http.get_req_body"), (Event::ResponseData, "avi.http.get_response_body")]
    {
        for (source, fault) in [
            ("while true do READ() end", ""),
            ("while true do pcall(READ) end", TIME),
            ("while true do READ(0.01) end", STEPS),
            ("local t = {} while true do t[#t + 1] = READ() .. #t end", MEMORY),
            ("local b = READ() while true do b = b .. b end", MEMORY),
            ("local b = READ() while true do b:find('b', 1, true) end", TIME),
            ("local b = READ() b:find('a*b')", STEPS),
            ("local b = READ() b:gsub('.', function() while true do end end)", STEPS),
            ("local b = READ() b:find('[bc]+d[ef]+[gh]')", "a pattern with a set is too long"),
            ("local b = READ() .. 'model' assert(b:find('model', 1, true))", ""),
            ("while true do avi.vs.log('x') end", STEPS),
        ] {
            check_at(event, &source.replace("READ", read), fault);
        }
    }
    for source in
        ["while true do avi.http.add_header('a', 'b') end", "while true do pcall(avi.http.add_header, 'a', 'b') end"]
    {
        check_at(Event::Balanced, source, "");
    }
}

#[test]
fn recursion_has_an_end() {
    check("local function f() return 1 + f() end f()", MEMORY);
    check("local function f() f() f() end f()", MEMORY);
    check("local t = setmetatable({}, {__index = function(t, k) return t[k] end}) return t.x", "stack overflow");
    check("local s = string.rep('(', 5000) string.rep('a', 5000):find(s)", "");
    check("return table.unpack(table.create(60000, 1))", "too many results");
}

#[test]
fn lists_take_no_longer_than_they_may() {
    check("local t = {} for i = 1, 20000 do t[i] = (i * 7919) % 20000 end table.sort(t) error('sorted')", "");
    check("local s = string.rep('x', 200000) local t = {} for i = 1, 2000 do t[i] = s end table.sort(t)", "");
    check("local t = {} for i = 1, 60000 do t[i] = i end table.sort(t, function(a, b) return true end)", "");
    check("table.move({}, 1, 1e8, 2)", "moves at most");
    check("table.move({}, -1e15, 1e15, 2)", "");
    check("for i = 1, 1e9 do table.move({}, 1, 16000, 2) end", STEPS);
    check("local t = table.create(60000, 1) for i = 1, 1e6 do table.insert(t, 1, i) end", "");
    check("local s = string.rep(',', 100000):split(',')", "pieces");
    check("local s = string.rep('a,', 100000) while true do pcall(string.split, s) end", TIME);
    check("local t = {} for i = 1, 20000 do t[i] = i end while true do table.find(t, 0) end", STEPS);
    check("while true do tonumber(string.rep('1', 300000)) end", "");
}

#[test]
fn script_without_loops_ends_soon() {
    let texts = "local s = string.rep('x', 200000) local t = s .. 'y' local u = s .. 'z' local x\n";
    for (line, times) in [
        ("x = t < u\n", 500),
        ("x = s .. 1\n", 250),
        ("x = string.sub(s, 2)\n", 3000),
        ("x = tonumber(s)\n", 3000),
        ("x = s:upper()\n", 3000),
        ("x = `{s}`\n", 3000),
        ("x = #s\n", 8000),
        ("x = {s, s}\n", 5000),
    ] {
        check(&format!("{texts}{}", line.repeat(times)), "");
    }
    for (source, why) in [
        ("x = s .. 1\n".repeat(600), "joins and compares in 600 places; a script may in 512"),
        ("-".repeat(70_000), "has 70000 bytes; a script may have 65536"),
        ("-- \0\nerror()".to_owned(), "has a character NUL, at which the compiler would stop to read"),
    ] {
        let script = Script::compile("hostile", Event::Request, &source);
        let fault = script.fault().map(ToString::to_string).unwrap_or_default();
        assert_eq!(fault, format!("hostile HTTP_REQ: {why}"));
    }
    for begin in ["x = `'`", "x = `--`", "x = `[[`"] {
        let script = Script::compile("hostile", Event::Request, &format!("{begin}{}", " x = s .. 1".repeat(600)));
        let fault = script.fault().map(ToString::to_string);
        assert!(fault.is_some_and(|fault| fault.contains("joins and compares in 600 places")), "{begin}");
    }
    let page = format!("avi.http.response(503, {{}}, [[{}]])", "<b>closed</b> ...\n".repeat(1000));
    assert_eq!(Script::compile("page", Event::Request, &page).fault(), None);
}

#[test]
fn lists_of_one_long_text_are_copied_no_further_than_they_may() {
    let list = "local s, t = string.rep('x', 300000), {} for i = 1, 20000 do t[i] = s end";
    let many = "local s, t = string.rep('x', 8000), {} for i = 1, 3000 do t['k' .. i] = s end";
    for (texts, call, fault) in [
        (list, "avi.http.set_query({a = t})", "at most 8192 bytes"),
        (many, "avi.http.set_query(t)", "at most 8192 bytes"),
        (list, "avi.http.response(200, {a = t}, 'x')", "at most 64 fields of 16384 bytes"),
        (many, "avi.http.response(200, t, 'x')", "at most 64 fields of 16384 bytes"),
        (list, "avi.http.response(200, {}, s)", "more than 65536 bytes"),
        ("local t = {} for i = 1, 20000 do t[i] = '' end", "avi.http.set_query({[''] = t})", "at most 8192 bytes"),
    ] {
        check(&format!("{texts} {call}"), fault);
        let before = resident_bytes();
        run(&mut Scripts::default(), &set(&format!("{texts} {call}")));
        let more = resident_bytes().saturating_sub(before);
        assert!(more < 64 << 20, "{call} has made the process grow by {more} bytes");
    }
}

#[test]
fn hashes_and_ciphers_take_no_longer_than_they_may() {
    let text = "local s, k = string.rep('x', 65536), string.rep('k', 32) while true do";
    for call in
        ["avi.utils.md5_hash(s)", "avi.utils.murmur_hash(s)", "avi.crypto.encrypt(s, k)", "avi.crypto.decrypt(s, k)"]
    {
        check(&format!("{text} {call} end"), TIME);
    }
    check("while true do avi.utils.ip_in_subnet('10.1.2.3', '10.0.0.0/8') end", STEPS);
    check("while true do avi.utils.ip.netaddr('10.1.2.3', 8) end", STEPS);
}

#[test]
fn tables_take_no_longer_than_they_may_and_no_more_memory() {
    check("for i = 1, 1e9 do avi.vs.table_insert('k' .. i, 'v') end", STEPS);
    check(
        "for i = 1, 1e9 do avi.vs.table_insert('t' .. i, 'k', 'v', 1) avi.vs.table_lookup('t' .. i, 'k', 9) end",
        STEPS,
    );
    check("local s = string.rep('x', 400000) while true do pcall(avi.vs.table_insert, s, s) end", "");
    check("local s = string.rep('x', 1000) for i = 1, 1e9 do avi.vs.table_insert(i, s) end", STEPS);
    let (served, before) = (
        set("local s = string.rep('x', 900) for i = 1, 20000 do
        avi.vs.table_insert(avi.utils.rand_bytes(20), s) end"),
        resident_bytes(),
    );
    let mut scripts = Scripts::default();
    for _ in 0..12 {
        run(&mut scripts, &served);
    }
    let more = resident_bytes().saturating_sub(before);
    assert!(more < 160 << 20, "the process has grown by {more} bytes");
}

/// The most that the process has had in memory.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a line");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok()).expect("a number") << 10
}

#[test]
fn places_written_as_texts_count_as_numbers() {
    for (call, fault) in [
        ("table.move({}, '1', '1e8', 2)", "moves at most"),
        ("table.move({}, 1, '0x7ffffff', 2)", "moves at most"),
        ("table.move({}, ' 1 ', ' 9999999 ', 2)", "moves at most"),
        ("table.move({}, -2^31, 2^31 - 1, 2)", "takes whole numbers"),
        ("table.move({}, 0/0, 1e300, 2)", "takes whole numbers"),
        ("table.move({}, 1, {}, 2)", "takes whole numbers"),
        ("table.move({}, 1.5, 2, 2)", "takes whole numbers"),
        ("table.move({}, 1, '2.5', 2)", "takes whole numbers"),
        ("table.move({}, 1, 2, -0.5)", "takes whole numbers"),
        ("table.move({}, 1)", "missing argument #3"),
        ("assert(table.concat(table.move({1, 2, 3}, '2', '3', '1')) == '233')", ""),
    ] {
        check(call, fault);
    }
}

#[test]
fn function_that_is_called_while_another_runs_does_not_stop_the_worker() {
    let table = "local t = setmetatable({}, {__tostring = function() avi.vs.log('in') return avi.vs.name() end,
        __index = function() return avi.vs.name() end, __len = function() avi.vs.log('len') return 1 end,
        __iter = function() avi.vs.log('iter') end, __lt = function() avi.vs.log('lt') return true end,
        __concat = function() return avi.vs.name() end, __call = function() return avi.vs.name() end})";
    for call in [
        "avi.vs.log(t)",
        "avi.vs.log(tostring(t), t)",
        "avi.http.add_header('a', t)",
        "avi.http.add_header(t, 'a')",
        "avi.http.set_query(t)",
        "avi.http.set_query({a = t})",
        "avi.http.set_query({[t] = 1})",
        "avi.http.response(200, t, 'x')",
        "avi.http.response(200, {a = t}, 'x')",
        "avi.http.response(t)",
        "avi.http.add_cookie(t)",
        "avi.http.redirect(t)",
        "avi.vs.reqvar.a = t",
        "avi.vs.reqvar[t] = 1",
        "local a = avi.vs.reqvar[t]",
        "local a = avi.vs[t]",
        "avi.pool.select(t, t, t)",
        "avi.stringgroup.contains(t, t)",
        "avi.utils.base64_encode(t)",
        "avi.utils.md5_hash(t)",
        "avi.utils.ip.netaddr(t, t)",
        "avi.crypto.encrypt(t, t, t, t)",
        "avi.pool.get_servers(t)",
        "avi.vs.ratelimit.exceed(t, t, t)",
        "avi.vs.rate_limit(t, t, t)",
        "avi.vs.table_insert(t, t)",
        "avi.vs.table_insert('t', t, t, t)",
        "avi.vs.table_lookup(t)",
        "avi.vs.table_refresh(t, t)",
        "avi.vs.table_remove(t)",
        "avi.pool.get_server_status(t, t, t)",
        "table.concat({t, t})",
        "table.sort({t, t, t})",
        "table.move(t, 1, 3, 2)",
        "string.find(t, t)",
    ] {
        // What comes of it does not matter: `check` runs another script behind it.
        check(&format!("{table} {call}"), "");
    }
}

#[test]
fn log_has_its_bound_and_takes_all_bytes() {
    let logged = |source: &str| {
        let mut scripts = Scripts::default();
        let mut seen = scripts.room();
        scripts.run(&set(source), Event::Request, &mut seen).acts.log
    };
    for source in [
        "while true do avi.vs.log('') end",
        "while true do avi.vs.log('x') end",
        "avi.vs.log(string.rep('x', 1023)) for i = 1, 100 do avi.vs.log('é') end",
        "avi.vs.log(string.rep('\\255', 100000))",
    ] {
        let log = logged(source);
        assert!(log.len() <= 1024, "{} bytes of {source}", log.len());
    }
    assert_eq!(logged("avi.vs.log('a\\255b', 1.5, nil, true)"), "a\u{fffd}b1.5niltrue");
    let table = "setmetatable({}, {__tostring = function() return 'a\\255' .. avi.vs.port() end})";
    assert_eq!(logged(&format!("avi.vs.log({table})")), "a\u{fffd}0");
}

fn set_of(sources: &[&str]) -> Arc<Served> {
    set_at(Event::Request, sources)
}

fn set_at(event: Event, sources: &[&str]) -> Arc<Served> {
    let scripts = sources.iter().map(|source| Script::compile("hostile", event, source)).collect();
    let set = ScriptSet { scripts, ..ScriptSet::default() };
    set.scripts.iter().for_each(|script| assert_eq!(script.fault(), None));
    Arc::new(Served { sets: [Arc::new(set)].into(), ..Served::default() })
}

#[test]
fn later_script_has_no_budget_of_its_own_when_it_is_loaded() {
    // If it had none at all, this would be the end of the test, too: 40 million turns.
    let long = "for i = 1, 4e7 do end";
    for sources in [["local a = 1", long], [long, "local a = 1"], ["for i = 1, 1e5 do end", "for i = 1, 1e5 do end"]] {
        let (mut scripts, set) = (Scripts::default(), set_of(&sources));
        for time in ["the first time", "later"] {
            let (_, fault) = run(&mut scripts, &set);
            assert!(fault.contains(STEPS), "{time}: {sources:?}: {fault:?}");
        }
    }
    let (mut scripts, set) = (Scripts::default(), set_of(&["local a = 1", "local s = string.rep('x', 3e6)"]));
    for _ in 0..2 {
        assert!(run(&mut scripts, &set).1.contains(MEMORY));
    }
}

/// Goes through all that a script reaches, and raises an error for a table that can be written.
const WALK: &str = r#"
local seen = {}
local function walk(what, path)
    if type(what) ~= "table" then
        local kind = type(what)
        if kind == "string" or kind == "userdata" then
            local meta = getmetatable(what)
            if type(meta) == "table" and not seen[meta] then walk(meta, path .. "<metatable>") end
        end
        return
    end
    if seen[what] then return end
    seen[what] = true
    local can = pcall(rawset, what, "x", 1) or pcall(rawset, what, 1, 1) or pcall(table.insert, what, 1)
        or pcall(table.clear, what) or pcall(setmetatable, what, {})
    if can or not table.isfrozen(what) then error(path .. " can be written") end
    local meta = getmetatable(what)
    if type(meta) == "table" then walk(meta, path .. "<metatable>") end
    for key, value in next, what do walk(value, path .. "." .. tostring(key)) end
end
walk(_G, "_G")
local _, raised = pcall(avi.http.set_path)
walk(raised, "an error")
if not (seen[avi.vs.reqvar] and seen[avi.vs.ratelimit] and seen[string] and seen[getmetatable("").__index]) then
    error("the walk has not gone everywhere")
end
"#;

#[test]
fn nothing_that_scripts_share_can_be_written() {
    let (mut scripts, set) = (Scripts::default(), set(WALK));
    assert_eq!(run(&mut scripts, &set).1, "");
    for source in ["rawset(avi.vs.reqvar, 'a', 1)", "table.insert(avi.vs.reqvar, 1)", "avi.vs.reqvar[1] = {}"] {
        let (_, fault) = run(&mut scripts, &crate::set(source));
        assert!(!fault.is_empty(), "{source}");
    }
    assert_eq!(run(&mut scripts, &crate::set("avi.vs.reqvar.a = 1 assert(avi.vs.reqvar.a == 1)")).1, "");
}
