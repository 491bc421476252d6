import Dispatch
import Foundation
import Hashing
import TestAccounts
import Testing

@testable import Accounts

/// Content, the wrong line, and a part of its message.
private let mistakes: [(String, Int, String)] = [
    ("nonsense", 1, "write 'NAME:ROLE:SOURCES:SECRET'"),
    ("# remark\n\nanna:viewer:*", 3, "write 'NAME:ROLE:SOURCES:SECRET'"),
    ("anna:viewer:*:SECRET:", 1, "write 'NAME:ROLE:SOURCES:SECRET'"),
    (":viewer:*:SECRET", 1, "'' is not a valid user name"),
    ("an na:viewer:*:SECRET", 1, "'an na' is not a valid user name"),
    ("anna\0:viewer:*:SECRET", 1, "'anna?' is not a valid user name"),
    ("anna:admin:*:SECRET", 1, "the role 'admin' is not known: use viewer or operator"),
    ("anna:Viewer:*:SECRET", 1, "the role 'Viewer' is not known"),
    ("anna:viewer::SECRET", 1, "'' is not a list of sources"),
    ("anna:viewer:a,a:SECRET", 1, "'a,a' is not a list of sources"),
    ("anna:viewer:../x:SECRET", 1, "'../x' is not a list of sources"),
    ("anna:viewer:*:", 1, "the secret is damaged"),
    ("anna:viewer:*:SECRET # mine", 1, "the secret is damaged"),
    ("anna:viewer:*:plain text", 1, "the secret is damaged"),
    ("anna:viewer:*:token$", 1, "the secret is damaged"),
    ("anna:viewer:*:token$AAAA", 1, "the secret is damaged"),
    ("anna:viewer:*:SECRET\nanna:viewer:*:SECRET", 2, "'anna' is in line 1 already"),
    ("a:viewer:*:TOKEN\n#\nb:viewer:*:TOKEN", 3, "this token is in line 1 already"),
]

struct `A file of accounts` {
    private let place = AccessPlace()
    private var users: UserFile { place.users }

    private func add(
        _ name: String, _ password: String = AccessSample.password, role: Role? = nil,
        sources: SourceScope? = nil, replacing: Bool = false
    ) throws {
        try users.add(
            name, password: password, cost: .least, role: role, sources: sources,
            replacing: replacing)
    }

    @Test func `is created with the first account, for its owner only`() throws {
        try add("anna", role: .operator)
        #expect(place.mode(users.path) == 0o600)
        let accounts = try users.accounts()
        #expect(accounts.map(\.name) == ["anna"])
        #expect(accounts.first?.rights == .everything)
        #expect(accounts.first?.isScript == false)
        #expect(try !place.text(users.path).contains(AccessSample.password))
        // Nothing half made is left behind.
        #expect(try place.names() == ["users"])
    }

    @Test func `removes leftovers of a killed program`() throws {
        let leftover = "\(users.path).1.new"
        try place.write("torn", to: leftover, mode: 0o644)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -7_200)], ofItemAtPath: leftover)
        try add("anna")
        #expect(try place.names() == ["users"])
        #expect(place.mode(users.path) == 0o600)
    }

    @Test func `gives a name to one account only`() throws {
        try add("anna")
        let before = try place.text(users.path)
        #expect(throws: AccessError.userExists("anna", path: users.path)) { try add("anna") }
        #expect(throws: AccessError.userExists("anna", path: users.path)) {
            try users.addScript("anna")
        }
        #expect(try place.text(users.path) == before)
        // Another one, as names are compared exactly.
        try add("Anna")
        #expect(try users.accounts().count == 2)
    }

    @Test func `replaces a secret, and keeps the other values`() throws {
        let sources = try #require(SourceScope("door,stage"))
        try add("anna", role: .operator, sources: sources)
        let first = try #require(try users.accounts().first)
        try add("anna", AccessSample.otherPassword, replacing: true)
        let second = try #require(try users.accounts().first)
        #expect(second.rights == first.rights)
        #expect(second.secret != first.secret)
        try add("anna", role: .viewer, sources: .all, replacing: true)
        #expect(try users.accounts().first?.rights == Rights(role: .viewer, sources: .all))
        // Replacing where there is nothing is adding.
        try add("ben", replacing: true)
        #expect(try users.accounts().map(\.name) == ["anna", "ben"])
    }

    @Test func `keeps of a script's token its digest`() throws {
        let text = try users.addScript("backup", sources: SourceScope("door"))
        let token = try #require(AccessToken(text: text))
        let account = try #require(try users.accounts().first)
        #expect(account.isScript)
        #expect(account.secret == .token(token.digest))
        #expect(account.passwordHash == nil)
        #expect(account.rights == Rights(role: .viewer, sources: .named(["door"])))
        #expect(try !place.text(users.path).contains(text))
        #expect(try users.addScript("backup", replacing: true) != text)
    }

    @Test func `leaves comments and empty lines where they are`() throws {
        let line = "anna:viewer:*:\(AccessSample.secret)"
        try place.write("# people\r\n\n  \(line)  \r\n\t# ends\n\n#", to: users.path)
        try add("ben")
        let text = try place.text(users.path)
        #expect(text.hasPrefix("# people\r\n\n  \(line)  \r\n\t# ends\n\n#\nben:viewer:*:scrypt$"))
        try users.remove("ben")
        try users.remove("anna")
        #expect(try place.text(users.path) == "# people\r\n\n\t# ends\n\n#\n")
        #expect(try users.accounts().isEmpty)
    }

    @Test func `reports an unknown account and an absent file`() throws {
        #expect(throws: AccessError.noUserFile(path: users.path)) { try users.accounts() }
        #expect(throws: AccessError.noUserFile(path: users.path)) { try users.remove("anna") }
        #expect(try place.names().isEmpty)
        try add("anna")
        #expect(throws: AccessError.noSuchUser("ben", path: users.path)) {
            try users.remove("ben")
        }
    }

    @Test func `refuses an invalid name, list or password`() throws {
        let long = String(repeating: "a", count: 65)
        for name in ["", "a:b", "-a", "@a", "a b", "a\n", "a\0", "ä", long] {
            #expect(throws: AccessError.notAUserName(name)) { try add(name) }
            #expect(throws: AccessError.notAUserName(name)) { try users.addScript(name) }
        }
        #expect(throws: AccessError.notSources("")) { try add("anna", sources: .named([])) }
        #expect(throws: AccessError.notSources("a:b")) { try add("anna", sources: .named(["a:b"])) }
        #expect(throws: AccessError.passwordTooShort(minimumCharacters: 12)) {
            try add("anna", "short")
        }
        #expect(try place.names().isEmpty)
        try add("a.b_c-d@example.org")
        try add(String(repeating: "a", count: 64))
    }

    @Test func `is refused if others may read or write it`() throws {
        try add("anna")
        for mode: mode_t in [0o640, 0o604, 0o610, 0o602, 0o644, 0o666] {
            chmod(users.path, mode)
            #expect(throws: AccessError.accessibleByOthers(path: users.path)) {
                try users.accounts()
            }
            #expect(throws: AccessError.accessibleByOthers(path: users.path)) { try add("ben") }
        }
        chmod(users.path, 0o400)
        #expect(try users.accounts().count == 1)
        let text = "\(AccessError.accessibleByOthers(path: users.path))"
        #expect(text.contains("'chmod 600 \(users.path)'"))
    }

    @Test func `must be a regular file`() throws {
        mkdir(users.path, 0o700)
        #expect(throws: AccessError.notAFile(path: users.path)) { try users.accounts() }
        rmdir(users.path)
        // Does not wait for a writer.
        mkfifo(users.path, 0o600)
        #expect(throws: AccessError.notAFile(path: users.path)) { try users.accounts() }
    }

    @Test func `loses no account of two programs that write at once`() throws {
        let users = users
        let errors = ReportedLines()
        DispatchQueue.concurrentPerform(iterations: 12) { index in
            do {
                _ = try users.addScript("script-\(index)")
            } catch {
                errors.add("\(error)")
            }
        }
        #expect(errors.all.isEmpty)
        let names = try users.accounts().map(\.name)
        #expect(Set(names) == Set((0..<12).map { "script-\($0)" }))
    }

    @Test(arguments: mistakes)
    func `with a mistake is refused with its line`(pattern: String, line: Int, flaw: String) throws
    {
        let token = "token$\(AccessToken.random().digest.text)"
        let text = pattern.replacing("SECRET", with: AccessSample.secret)
            .replacing("TOKEN", with: token)
        try place.write(text, to: users.path)
        let error = #expect(throws: AccessError.self) { try users.accounts() }
        let said = error?.description ?? ""
        #expect(said.hasPrefix("\(users.path), line \(line): "), "\(said)")
        #expect(said.contains(flaw), "\(said)")
        #expect(!said.contains("\n"))
    }

    @Test func `that is damaged is not printed`() throws {
        let damaged = AccessSample.secret.dropLast()
        try place.write("anna:viewer:*:\(damaged)", to: users.path)
        let error = #expect(throws: AccessError.self) { try users.accounts() }
        #expect(error?.description.contains("6lgv") == false)
        #expect(error?.description.contains("AAECAw") == false)
    }

    @Test func `must be UTF-8`() throws {
        var bytes = Array("# fine\n# ".utf8)
        bytes += [0xC3, 0x28]
        try Data(bytes).write(to: URL(filePath: users.path))
        chmod(users.path, 0o600)
        let error = #expect(throws: AccessError.self) { try users.accounts() }
        #expect(error?.description.contains("line 2: this is not UTF-8 text") == true)
    }

    @Test func `has a maximum size`() throws {
        let limit = UserTable.maximumBytes
        try place.write(String(repeating: "#", count: limit + 1), to: users.path)
        #expect(throws: AccessError.tooLarge(path: users.path, limitBytes: limit)) {
            try users.accounts()
        }
        try place.write(String(repeating: "#", count: limit), to: users.path)
        #expect(try users.accounts().isEmpty)
        // Full: there is no room for another line.
        #expect(throws: AccessError.tooLarge(path: users.path, limitBytes: limit)) {
            try users.addScript("backup")
        }
        for hostile in [":", "\n", "\r\n", " ", "\0", "a:", "$", ","] {
            let text = String(repeating: hostile, count: limit / hostile.utf8.count)
            try place.write(text, to: users.path)
            if hostile == " " {
                #expect(try users.accounts().isEmpty)
            } else {
                #expect(throws: AccessError.self) { try users.accounts() }
            }
        }
    }

    @Test func `has no more than ten thousand accounts`() throws {
        let lines = (0...UserTable.maximumAccounts).map { index in
            "u\(index):viewer:*:token$\(TokenDigestSample.text(index))"
        }
        let text = lines.joined(separator: "\n")
        let table = try UserTable(Array(lines.dropLast().joined(separator: "\n").utf8), path: "u")
        #expect(table.accounts.count == 10_000)
        #expect(throws: AccessError.tooManyUsers(path: "u", limit: 10_000)) {
            try UserTable(Array(text.utf8), path: "u")
        }
        var full = table
        let account = try AccessSample.account()
        #expect(throws: AccessError.tooManyUsers(path: "u", limit: 10_000)) {
            try full.add(account, replacing: false, path: "u")
        }
    }
}

/// Digests of no token.
private enum TokenDigestSample {
    static func text(_ index: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: 32)
        bytes[0] = UInt8(truncatingIfNeeded: index >> 8)
        bytes[1] = UInt8(truncatingIfNeeded: index)
        return ByteText.base64URL(bytes)
    }
}

struct `The key for cookies and links` {
    private let place = AccessPlace()

    @Test func `is made once, and readable by its owner alone`() throws {
        let key = try AccessKey.load(for: place.users)
        #expect(place.mode(place.users.keyPath) == 0o600)
        let again = try AccessKey.load(for: place.users)
        #expect(key.code(of: [1], for: .link) == again.code(of: [1], for: .link))
        #expect(try place.names() == ["users.key"])
    }

    @Test func `is the same for programs that start at once`() throws {
        let users = place.users
        let codes = ReportedLines()
        DispatchQueue.concurrentPerform(iterations: 12) { _ in
            do {
                let key = try AccessKey.load(for: users)
                codes.add(ByteText.base64URL(key.code(of: [1], for: .link)))
            } catch {
                codes.add("\(error)")
            }
        }
        #expect(codes.all.count == 12)
        #expect(Set(codes.all).count == 1)
        #expect(codes.all.first?.utf8.count == 43)
    }

    @Test func `has a code for each purpose`() {
        let key = AccessSample.key
        let code = key.code(of: [1, 2], for: .session)
        #expect(code.count == 32)
        #expect(key.isValid(code, of: [1, 2], for: .session))
        #expect(!key.isValid(code, of: [1, 2], for: .link))
        #expect(!key.isValid(code, of: [1, 2], for: .account))
        #expect(!key.isValid(code, of: [1, 3], for: .session))
        #expect(!key.isValid(code, of: [1], for: .session))
        #expect(!key.isValid(Array(code.dropLast()), of: [1, 2], for: .session))
        #expect(!key.isValid([], of: [1, 2], for: .session))
        #expect(!AccessSample.otherKey.isValid(code, of: [1, 2], for: .session))
    }

    @Test(arguments: ["", "#", "short", "AAAA\nAAAA", "\0", "two\nlines", "="])
    func `that is damaged is refused, and not replaced`(text: String) throws {
        let path = place.users.keyPath
        try place.write(text, to: path)
        #expect(throws: AccessError.notAKey(path: path)) { try AccessKey.load(for: place.users) }
        #expect(try place.text(path) == text)
    }

    @Test func `is refused if others may read it`() throws {
        _ = try AccessKey.load(for: place.users)
        chmod(place.users.keyPath, 0o640)
        #expect(throws: AccessError.accessibleByOthers(path: place.users.keyPath)) {
            try AccessKey.load(for: place.users)
        }
    }

    @Test func `needs a directory`() {
        let users = UserFile("\(place.directory)/none/users")
        let error = #expect(throws: AccessError.self) { try AccessKey.load(for: users) }
        #expect(error?.description.hasPrefix("cannot write into \(place.directory)/none:") == true)
    }
}
