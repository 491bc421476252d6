import Foundation
import Messaging
import Testing
import Wire

@testable import Trust

struct `A machine's own key` {
    @Test func `is made once, and readable by its owner alone`() throws {
        let place = KeyPlace()
        #expect(try place.directory.ownKey() == nil)
        let before = umask(0o277)
        defer { umask(before) }
        let key = try place.directory.makeOwnKey()
        let path = place.directory.ownKeyPath
        #expect(place.mode(path) == 0o600)
        #expect(place.mode(place.directory.path) == 0o755)
        #expect(try place.directory.ownKey() == key)
        #expect(throws: TrustError.ownKeyExists(path: path)) {
            try place.directory.makeOwnKey()
        }
        #expect(try place.directory.ownKey() == key)
        // No partial file remains.
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: place.directory.path) == ["own.key"]
        )
    }

    @Test
    func `is made beside leftovers, and old leftovers are removed`() throws {
        let place = KeyPlace()
        try place.directory.make()
        let path = place.directory.ownKeyPath
        let (stale, old, other) = (
            "\(path).\(getpid()).new", "\(path).1.new", "\(place.directory.path)/notes.new"
        )
        for leftover in [stale, old, other] { try place.write("torn", to: leftover) }
        for leftover in [old, other] {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -7_200)], ofItemAtPath: leftover)
        }
        let key = try place.directory.makeOwnKey()
        #expect(try place.directory.ownKey() == key)
        // A file a minute old may be in use by a writer, and other names are not ours.
        #expect(
            try Set(FileManager.default.contentsOfDirectory(atPath: place.directory.path))
                == ["own.key", "own.key.\(getpid()).new", "notes.new"])
    }

    @Test func `is refused while others may read it`() throws {
        let place = KeyPlace()
        _ = try place.directory.makeOwnKey()
        let path = place.directory.ownKeyPath
        for mode: mode_t in [0o640, 0o604, 0o610, 0o644] {
            chmod(path, mode)
            #expect(throws: TrustError.readableByOthers(path: path)) {
                try place.directory.ownKey()
            }
        }
        chmod(path, 0o400)
        #expect(try place.directory.ownKey() != nil)
        #expect("\(TrustError.readableByOthers(path: path))".contains("chmod 600 \(path)"))
    }

    @Test func `is refused if damaged, and not shown in the error`() throws {
        let place = KeyPlace()
        _ = try place.directory.makeOwnKey()
        let path = place.directory.ownKeyPath
        let whole = try place.text(path)
        let secret = try #require(whole.split(separator: "\n").last?.split(separator: " ").last)
        try place.write(whole.replacing(secret, with: secret.dropLast()), to: path)
        chmod(path, 0o600)
        let error = #expect(throws: TrustError.self) { try place.directory.ownKey() }
        #expect(error?.description.contains(secret.prefix(20)) == false)
        #expect(error?.description.contains("not a secret key") == true)
    }
}

struct `An agent's file` {
    private let place = KeyPlace()
    private var directory: KeyDirectory { place.directory }

    private func key() throws -> PublicKey { try SecretKey.generate().publicKey }

    @Test func `authorises the source of its own name unless others are given`() throws {
        let key = try key()
        let first = try directory.authorize(name: "stage", key: key, sources: nil)
        #expect(first.sources.map(\.description) == ["stage"])
        let patterns = try Authorization.patterns("hall, door-*")
        _ = try directory.authorize(name: "stage", key: nil, sources: patterns)
        let kept = try directory.authorize(name: "stage", key: key, sources: nil)
        #expect(kept.sources == patterns)
        #expect(try directory.agents() == .init(authorizations: [kept]))
        #expect(place.mode(directory.agentPath("stage")) == 0o644)
    }

    @Test func `gives the right to watch only if told to, and then no source`() throws {
        let (viewer, box) = (try key(), try key())
        let first = try directory.authorize(
            name: "viewer", key: viewer, sources: nil, mayWatch: true)
        #expect(first.sources.isEmpty && first.mayWatch && first.isViewer)
        #expect(try !directory.authorize(name: "stage", key: box, sources: nil).mayWatch)
        var register = try directory.agents().register
        #expect(register.mayWatch(viewer, now: 0) && !register.mayWatch(box, now: 0))
        #expect(register.authorizedCount == 1 && register.watchingCount == 1)
        // A box that may also watch keeps its source; unmentioned rights remain.
        try directory.authorize(name: "stage", key: nil, sources: nil, mayWatch: true)
        let both = try directory.authorize(name: "stage", key: box, sources: nil)
        #expect(both.mayWatch && both.sources.map(\.description) == ["stage"] && !both.isViewer)
        try directory.authorize(name: "viewer", key: nil, sources: nil, mayWatch: false)
        try directory.revoke("stage")
        register = try directory.agents().register
        #expect(!register.mayWatch(viewer, now: 0) && !register.mayWatch(box, now: 0))
        // Another key of the name does not have the right.
        let other = try key()
        #expect(try !directory.authorize(name: "stage", key: other, sources: nil).mayWatch)
        // A one-time key cannot watch, even if its successor may.
        let (_, token) = try directory.enrol(name: "hall", sources: nil, expires: 100)
        try directory.authorize(name: "hall", key: nil, sources: nil, mayWatch: true)
        #expect(try !directory.agents().register.mayWatch(token.publicKey, now: 0))
    }

    @Test func `is revoked by name or key, and given back`() throws {
        let (one, other) = (try key(), try key())
        try directory.authorize(name: "one", key: one, sources: nil)
        try directory.authorize(name: "other", key: other, sources: nil)
        try directory.revoke("one")
        try directory.revoke(other.text)
        let register = try directory.agents().register
        #expect(register.standing(of: one, now: 0) == .revoked(name: "one"))
        #expect(register.standing(of: other, now: 0) == .revoked(name: "other"))
        #expect(register.standing(of: try key(), now: 0) == .unknown)
        #expect(register.authorizedCount == 0)
        try directory.authorize(name: "one", key: nil, sources: nil)
        #expect(try directory.agents().register.authorizedCount == 1)
        #expect(throws: TrustError.noSuchAgent("nobody", directory: directory.agentsPath)) {
            try directory.revoke("nobody")
        }
    }

    @Test func `is not created by revoking or changing an unknown agent`() throws {
        let unknown = TrustError.noSuchAgent("nobody", directory: directory.agentsPath)
        #expect(throws: unknown) { try directory.revoke("nobody") }
        #expect(throws: unknown) {
            try directory.authorize(name: "nobody", key: nil, sources: nil)
        }
        #expect(!FileManager.default.fileExists(atPath: directory.path))
    }

    @Test func `does not give a name to two keys, or a key to two names`() throws {
        let (one, other) = (try key(), try key())
        try directory.authorize(name: "stage", key: one, sources: nil)
        let path = directory.agentPath("stage")
        #expect(throws: TrustError.nameTaken(name: "stage", path: path)) {
            try directory.authorize(name: "stage", key: other, sources: nil)
        }
        #expect(throws: TrustError.keyTaken(name: "stage")) {
            try directory.authorize(name: "door", key: one, sources: nil)
        }
        // A revoked key may return under another name, and its name may be given to another key.
        try directory.revoke("stage")
        try directory.authorize(name: "door", key: one, sources: nil)
        #expect(try directory.agents().authorizations.map(\.name) == ["door"])
    }

    @Test func `has a name within its directory`() throws {
        for name in ["../own", "", "a/b", ".hidden", "-x"] {
            #expect(throws: TrustError.notAName(name)) {
                try directory.authorize(name: name, key: try key(), sources: nil)
            }
        }
    }

    @Test func `that cannot be read excludes only its agent`() throws {
        let (one, other) = (try key(), try key())
        try directory.authorize(name: "one", key: one, sources: nil)
        try place.write("key = \(other.text)\n", to: directory.agentPath("other"))
        let agents = try directory.agents()
        #expect(agents.authorizations.map(\.name) == ["one"])
        #expect(agents.register.standing(of: other, now: 0) == .unknown)
        #expect(agents.flaws.count == 1)
        #expect("\(agents.flaws)".contains("other.pub, line 1: the line 'sources"))
    }

    @Test(arguments: [
        ("nonsense", "line 1: write 'name = value'"),
        ("# remark\nkey = short\nsources = a", "line 2: 'short' is not a valid public key"),
        ("key = KEY\nsources = a b/c", "line 2: 'b/c' is not a valid source pattern"),
        ("key = KEY\nkey = KEY\nsources = a", "line 2: key is given twice"),
        ("key = KEY\nsource = a", "line 2: 'source' is not a known name"),
        ("key = KEY\nsources = a\nrevoked = maybe", "line 3: revoked must be yes or no"),
        ("key = KEY\nsources =\nwatch = all", "line 3: watch must be yes or no"),
    ])
    func `is reported with the place of a mistake`(text: String, flaw: String) throws {
        try place.write(
            text.replacing("KEY", with: try key().text), to: directory.agentPath("stage"))
        let agents = try directory.agents()
        #expect(agents.authorizations.isEmpty)
        #expect(agents.flaws.first.map { "\($0)".contains(flaw) } == true, "\(agents.flaws)")
    }

    @Test func `is ignored if others may write it`() throws {
        try directory.authorize(name: "stage", key: try key(), sources: nil)
        let path = directory.agentPath("stage")
        chmod(path, 0o666)
        #expect(try directory.agents().flaws == [.writableByOthers(path: path)])
        chmod(path, 0o644)
        chmod(directory.agentsPath, 0o777)
        #expect(throws: TrustError.writableByOthers(path: directory.agentsPath)) {
            try directory.agents()
        }
    }

    @Test func `past its size is not read`() throws {
        let path = directory.agentPath("stage")
        try place.write(String(repeating: "#\n", count: FieldFile.maximumBytes), to: path)
        #expect("\(try directory.agents().flaws)".contains("it is larger than"))
    }

    @Test func `of a key that another file revokes does not authorise it again`() throws {
        let key = try key()
        try directory.authorize(name: "one", key: key, sources: nil)
        try directory.revoke("one")
        try place.write("key = \(key.text)\nsources = *\n", to: directory.agentPath("two"))
        let agents = try directory.agents()
        #expect(agents.register.standing(of: key, now: 0) == .revoked(name: "one"))
        #expect("\(agents.flaws)".contains("one.pub holds the same key"))
    }
}

struct `A watch over the agents' files` {
    @Test func `reports added, changed and removed files, once`() throws {
        let place = KeyPlace()
        let key = try SecretKey.generate().publicKey
        var watch = AgentWatch(place.directory)
        #expect(try watch.changes()?.authorizations.isEmpty == true)
        #expect(try watch.changes() == nil)
        try place.directory.authorize(name: "stage", key: key, sources: nil)
        #expect(try watch.changes()?.authorizations.count == 1)
        #expect(try watch.changes() == nil)
        try place.directory.revoke("stage")
        #expect(try watch.changes()?.register.standing(of: key, now: 0) == .revoked(name: "stage"))
        try place.write("key = \(key.text)\nsources = *\n", to: place.directory.agentPath("stage"))
        #expect(try watch.changes()?.register.authorizedCount == 1)
        try FileManager.default.removeItem(atPath: place.directory.agentPath("stage"))
        #expect(try watch.changes()?.register.standing(of: key, now: 0) == .unknown)
        #expect(try watch.changes() == nil)
    }

    @Test func `reports unreadable files once, and continues when they are readable`() throws {
        let place = KeyPlace()
        let key = try SecretKey.generate().publicKey
        try place.directory.authorize(name: "stage", key: key, sources: nil)
        var watch = AgentWatch(place.directory)
        #expect(try watch.changes() != nil)
        chmod(place.directory.agentsPath, 0o777)
        #expect(throws: TrustError.writableByOthers(path: place.directory.agentsPath)) {
            try watch.changes()
        }
        #expect(try watch.changes() == nil)
        chmod(place.directory.agentsPath, 0o755)
        #expect(try watch.changes()?.authorizations.count == 1)
        #expect(try watch.changes() == nil)
    }
}

struct `The security of a connection` {
    private let place = KeyPlace()

    private func wish(
        isLocal: Bool, isInsecure: Bool = false, directory: Bool = true, key: String? = nil
    ) -> LinkSecurity.Request {
        LinkSecurity.Request(
            endpoint: "tcp://server:5550", isLocal: isLocal, isInsecure: isInsecure,
            directory: directory ? place.directory.path : nil, collectorKey: key)
    }

    @Test func `is off on one machine, unless keys are requested`() throws {
        #expect(try LinkSecurity.ofCollector(wish(isLocal: true, directory: false)) == nil)
        #expect(try LinkSecurity.ofAgent(wish(isLocal: true, directory: false)) == nil)
        #expect(throws: TrustError.noOwnKey(directory: place.directory.path)) {
            try LinkSecurity.ofCollector(wish(isLocal: true))
        }
    }

    @Test func `is off with the insecure option`() throws {
        #expect(try LinkSecurity.ofCollector(wish(isLocal: false, isInsecure: true)) == nil)
        #expect(try LinkSecurity.ofAgent(wish(isLocal: false, isInsecure: true)) == nil)
    }

    @Test func `is an existing own key, for a collector`() throws {
        #expect(throws: TrustError.noOwnKey(directory: place.directory.path)) {
            try LinkSecurity.ofCollector(wish(isLocal: false))
        }
        let key = try place.directory.makeOwnKey()
        #expect(try LinkSecurity.ofCollector(wish(isLocal: false))?.key == key)
    }

    @Test func `is an own key that is made if missing, for an agent with a collector key`() throws {
        #expect(throws: TrustError.self) { try LinkSecurity.ofAgent(wish(isLocal: false)) }
        // An agent that cannot connect creates no key.
        #expect(try place.directory.ownKey() == nil)
        let collector = try SecretKey.generate().publicKey
        try place.directory.trustCollector(collector)
        let first = try #require(try LinkSecurity.ofAgent(wish(isLocal: false)))
        let again = try #require(try LinkSecurity.ofAgent(wish(isLocal: false)))
        #expect(first.isNewKey && !again.isNewKey && first.key == again.key)
        #expect(again.collectorKey == collector)
        let other = try SecretKey.generate().publicKey
        let told = try LinkSecurity.ofAgent(wish(isLocal: false, key: other.text))
        #expect(told?.collectorKey == other)
    }

    @Test func `is checked for an agent without making a key`() throws {
        try LinkSecurity.checkAgent(wish(isLocal: true, directory: false))
        #expect(throws: TrustError.self) { try LinkSecurity.checkAgent(wish(isLocal: false)) }
        let other = try SecretKey.generate().publicKey
        try LinkSecurity.checkAgent(wish(isLocal: false, key: other.text))
        #expect(try place.directory.ownKey() == nil)
        try place.directory.make()
        try place.write("damaged", to: place.directory.ownKeyPath)
        chmod(place.directory.ownKeyPath, 0o600)
        #expect(throws: TrustError.self) {
            try LinkSecurity.checkAgent(wish(isLocal: false, key: other.text))
        }
    }

    @Test func `is authorised with one command for all sources of a box`() throws {
        let key = try SecretKey.generate().publicKey
        func command(_ sources: [String], _ source: String) -> String {
            KeyHolder(of: sources, source: source, box: "box").command(for: key)
        }
        #expect(command([], "door") == "tributary keys authorize door \(key.text)")
        #expect(command(["door"], "door.preview") == "tributary keys authorize door \(key.text)")
        let all = "tributary keys authorize box \(key.text) --sources door,yard"
        #expect(command(["door", "yard"], "yard") == all)
        let line = HandshakeAdvice.line(
            .refused(status: 400), endpoint: "tcp://a:1", name: "box", sources: ["door", "yard"],
            security: .client(try SecretKey.generate(), server: key))
        #expect(line.hasSuffix(" --sources door,yard'"))
    }
}

struct `A register` {
    @Test func `states the sources that a key may write`() throws {
        let right = WritingRight(name: "box", sources: try Authorization.patterns("stage door-*"))
        for name in ["stage", "door-", "door-1"] { #expect(right.covers(name)) }
        for name in ["stage2", "Stage", "door", "hall"] { #expect(!right.covers(name)) }
        #expect(WritingRight(name: "box", sources: try Authorization.patterns("*")).covers("hall"))
    }

    @Test func `refuses a pattern that no source can match`() {
        for text in ["", "a*b", "**", "../*", "-x"] {
            #expect(SourcePattern(text) == nil, "\(text)")
        }
    }
}
