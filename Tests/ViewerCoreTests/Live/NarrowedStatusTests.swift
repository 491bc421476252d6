import Synchronization
import Testing

@testable import Accounts
@testable import ViewerCore

/// The status for accounts with some sources.
@Suite struct NarrowedStatusTests {
    private static func rights(_ sources: String..., role: Role = .viewer) -> Rights {
        Rights(role: role, sources: .named(Set(sources)))
    }

    private static func source(_ name: String) -> String {
        #"{"name":"\#(name)","agent":"box","isConnected":true,"isRecorded":true,"#
            + #""isStopped":false,"picturesPerSecond":15,"bitsPerSecond":1,"#
            + #""persistedAgeSeconds":1,"lostSamples":0,"gaps":[]}"#
    }

    private static let json =
        #"{"version":"1","isReady":true,"session":"secret","sessionSeconds":7,"#
        + #""refusedConnections":0,"disk":{"removesOldSegments":false,"filesWithoutRoom":0,"#
        + #""stuckFiles":0,"busySeconds":0},"sources":[\#(source("door")),\#(source("stage"))],"#
        + #""omittedSources":333}"#

    @Test func `the text is made once for all accounts with the same sources`() {
        let made = CountedNarrowing()
        let status = NarrowedStatus("status") { json, rights in made.text(json, rights) }
        let first = status.text(for: Self.rights("door"))
        #expect(first == "1 status door")
        #expect(status.text(for: Self.rights("door")) == first)
        #expect(status.text(for: Self.rights("door", role: .operator)) == first)
        #expect(status.text(for: Self.rights("stage")) == "2 status stage")
        #expect(status.text(for: Self.rights("door")) == first)
        #expect(made.count == 2)
    }

    @Test func `a text that could not be made is not tried again`() {
        let made = CountedNarrowing()
        let status = NarrowedStatus("status") { json, rights in
            _ = made.text(json, rights)
            return nil
        }
        for _ in 0..<3 { #expect(status.text(for: Self.rights("door")) == nil) }
        #expect(made.count == 1)
    }

    @Test func `texts are kept for a limited number of rights, others are made each time`() {
        let made = CountedNarrowing()
        let status = NarrowedStatus("status") { json, rights in made.text(json, rights) }
        let most = NarrowedStatus.maximumTexts
        for number in 0..<most { _ = status.text(for: Self.rights("camera\(number)")) }
        for number in 0..<most { _ = status.text(for: Self.rights("camera\(number)")) }
        #expect(made.count == most)
        #expect(status.text(for: Self.rights("other")) == "\(most + 1) status other")
        #expect(status.text(for: Self.rights("other")) == "\(most + 2) status other")
    }

    @Test func `sources without a right, their session and their number are left out`() throws {
        let own = try #require(NarrowedStatus.narrowed(Self.json, Self.rights("door")))
        #expect(own.contains("door") && own.contains("secret"))
        #expect(!own.contains("stage") && !own.contains("\n"))
        let none = try #require(NarrowedStatus.narrowed(Self.json, Self.rights("hall")))
        #expect(!none.contains("door") && !none.contains("stage") && !none.contains("secret"))
        for text in [own, none] { #expect(!text.contains("333")) }
        #expect(NarrowedStatus.narrowed(#"{"version":"9"}"#, Self.rights("door")) == nil)
    }

    @Test func `a preview is marked as one only if its source may be read`() throws {
        let json = Self.json.replacing(
            Self.source("stage"),
            with: "\(Self.source("door.preview")),\(Self.source("stage"))")
        let door = try #require(NarrowedStatus.narrowed(json, Self.rights("door")))
        #expect(door.contains(#""name" : "door.preview""#))
        #expect(door.contains(#""previewOf" : "door""#))
        #expect(!door.contains("stage"))
        // An account with the preview alone does not learn of its source.
        let alone = try #require(NarrowedStatus.narrowed(json, Self.rights("door.preview")))
        #expect(alone.contains(#""name" : "door.preview""#))
        #expect(!alone.contains(#""name" : "door""#) && !alone.contains("previewOf"))
        let other = try #require(NarrowedStatus.narrowed(json, Self.rights("stage")))
        #expect(!other.contains("door"))
    }

    @Test func `all listeners share a status, and each status is narrowed anew`() async throws {
        let log = EventLog(first: 0)
        let one = try #require(log.listen(after: nil, for: .user("anna")))
        let other = try #require(log.listen(after: nil, for: .user("ben")))
        log.add(EventLog.status, json: "{}")
        let heard = await (one.next(), other.next())
        let first = try #require(heard.0.first?.narrowed)
        let same = try #require(heard.1.first?.narrowed)
        #expect(first === same)
        log.add(EventLog.status, json: "{}")
        let later = await one.next()
        let next = try #require(later.first?.narrowed)
        #expect(next !== first)
        // No other event is filtered.
        log.add("session", json: "{}")
        let session = await one.next()
        #expect(session.map(\.name) == ["session"] && session.first?.narrowed == nil)
    }
}

/// Counts how often a text is built.
private final class CountedNarrowing: Sendable {
    private let state = Mutex(0)

    var count: Int { state.withLock { $0 } }

    func text(_ json: String, _ rights: Rights) -> String {
        let number = state.withLock { count in
            count += 1
            return count
        }
        return "\(number) \(json) \(rights.sources.text)"
    }
}
