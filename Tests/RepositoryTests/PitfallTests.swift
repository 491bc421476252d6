import Foundation
import Testing

/// Mistakes that compile, pass short tests, and have occurred here.
@Suite struct PitfallTests {
    /// A function stored in a `Mutex` directly is wrapped once more at each read: an agent's thread lost 64 bytes of
    /// stack and some processor time per call. In a structure it stays unchanged.
    @Test func `no lock has a function as its own value`() throws {
        var count = 0
        for path in Repository.files(below: "Sources") where path.hasSuffix(".swift") {
            let text = try Repository.text(path)
            // Names of functions' types in the same file.
            var names: Set = ["@Sendable", "@escaping"]
            for match in text.matches(of: /typealias (\w+) =\s+[^\n{]*->/) {
                names.insert(String(match.1))
            }
            for match in text.matches(of: /(?:Mutex|NIOLockedValueBox)<([^\n]*)/) {
                count += 1
                let value = match.1.prefix { $0 != "=" && $0 != "{" }
                let words = value.split { !$0.isLetter && !$0.isNumber && $0 != "@" }.map(
                    String.init)
                let isFunction = value.contains("() ->") || words.contains(where: names.contains)
                #expect(!isFunction, "\(path): \(value)")
            }
        }
        #expect(count > 20)
    }

    /// Structures of the C library belong to the first module whose header declares them, which can be `CLinux` when a
    /// whole module is compiled at once: an optimised build failed where the usual one did not.
    @Test func `members of C structures are used with both modules imported`() throws {
        var files: [(path: String, text: String)] = []
        for path in Repository.files(below: "Sources") where path.hasSuffix(".swift") {
            files.append((path, try Repository.text(path)))
        }
        let module = { (path: String) in path.split(separator: "/").dropFirst().first ?? "" }
        let exposed = Set(
            files.filter { $0.text.contains("import CLinux") }.map { module($0.path) })
        let members =
            /\b(st_(size|mode|mtim|ctim|ino|dev|nlink|uid)|tv_n?u?sec|sin6?_\w+)\b|= stat\(\)/
        var count = 0
        for (path, text) in files where exposed.contains(module(path)) {
            guard text.contains("import Glibc"), text.contains(members) else { continue }
            count += 1
            #expect(text.contains("import CLinux"), "\(path)")
        }
        #expect(count > 5)
    }

    /// Its timed waits follow the wall clock on Linux: after a step back of an hour, a collector's disk thread slept for an hour.
    @Test func `waits follow the monotonic clock`() throws {
        var waits = 0
        for path in Repository.files(below: "Sources")
        where path.hasSuffix(".swift") && path != "Sources/Threads/Semaphore.swift" {
            let text = try Repository.text(path)
            waits += text.ranges(of: "wait(timeout: ").count
            for name in ["DispatchSemaphore", "DispatchGroup", "wallTimeout:", "NSCondition"] {
                #expect(!text.contains(name), "\(path): \(name)")
            }
        }
        #expect(waits > 15)
    }

    /// Names of segments and of their companion files are composed and parsed by `SegmentName` only: ten files had their own
    /// suffixes and limits.
    @Test func `only one file builds and parses segment names`() throws {
        let owners: Set = [
            "Sources/Archive/Layout/SegmentName.swift",
            // Parts of live playlists.
            "Sources/ViewerCore/HLS/LivePart.swift",
        ]
        // The suffix, alone or after a value; the time in a name.
        let cut = /["\)]\.mp4[".]|UTCTime\(fileName:|origin\.fileName/
        var found: Set<String> = []
        for path in Repository.files(below: "Sources") where path.hasSuffix(".swift") {
            for line in try Repository.text(path).split(separator: "\n")
            where !line.drop(while: \.isWhitespace).hasPrefix("//") && line.contains(cut) {
                found.insert(path)
                #expect(owners.contains(path), "\(path): \(line)")
            }
        }
        #expect(found == owners)
    }

    /// A kind of input is described in its folder and entered in a list; twenty switches knew all kinds.
    @Test func `kinds of input are named in their folders and in one list`() throws {
        let folder = "Sources/AgentCore/Capture/"
        let list = try Repository.text("\(folder)CaptureInput.swift")
        let own = try #require(list.firstMatch(of: /kinds: \[[^\]]*\] = \[([^\]]*)\]/)).1
        let kinds = own.matches(of: /(\w+)\.self/).map { String($0.1) }
        #expect(kinds.count >= 6)
        let files = Repository.files(below: "Sources").filter { $0.hasSuffix(".swift") }
        for kind in kinds {
            let home = try #require(files.first { $0.hasSuffix("/\(kind).swift") })
            #expect(home.hasPrefix(folder))
            let place = home.dropLast(kind.count + ".swift".count)
            for path in files where !path.hasPrefix(place) && path != "\(folder)CaptureInput.swift"
            {
                let words = try Repository.text(path).split { !$0.isLetter && !$0.isNumber }
                #expect(!words.contains { $0 == kind }, "\(path) names \(kind)")
            }
        }
    }

    @Test func `no other module names a backend of the catalog`() throws {
        for path in Repository.files(below: "Sources")
        where path.hasSuffix(".swift") && !path.hasPrefix("Sources/Catalog/") {
            let named = try Repository.text(path).firstMatch(
                of: /(SQLite|PostgreSQL)Catalog|[ (]\.sqlite\b/)
            #expect(named == nil, "\(path)")
        }
    }

    /// The whole of Foundation links ICU, 36 MB of each program.
    @Test func `programs link FoundationEssentials only`() throws {
        for path in Repository.files(below: "Sources")
        where path.hasSuffix(".swift") && !path.contains("/Generated/") {
            #expect(
                try !Repository.text(path).contains(/(?m)^(package )?import Foundation$/), "\(path)"
            )
        }
    }
}
