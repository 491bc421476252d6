import Foundation
import SwiftProtobuf
import Testing

@testable import Wire

struct `An Enrol` {
    private static let enrol = Enrol(
        software: "tributary-agent 1", agent: "box7",
        publicKey: [UInt8](repeating: 9, count: WireLimits.publicKeyBytes))
    private static let peer = CollectorHarness.peer(1)

    private let token = WritingRight(
        name: "box7", sources: ["camera1"].compactMap(SourcePattern.init), isForEnrolment: true)
    private let own = WritingRight(
        name: "box7", sources: ["camera1"].compactMap(SourcePattern.init))

    private func enrolments(_ collector: inout CollectorHarness) -> [CollectorAction] {
        collector.takeEvents().filter {
            if case .enrol = $0 { true } else { false }
        }
    }

    @Test func `is forwarded once, and answered when it is completed`() {
        var collector = CollectorHarness()
        collector.send(.enrol(Self.enrol), right: token)
        #expect(enrolments(&collector) == [.enrol(Self.peer, Self.enrol)])
        // A repeated request changes nothing meanwhile.
        collector.send(.enrol(Self.enrol), right: token)
        #expect(enrolments(&collector).isEmpty && collector.takeSent().isEmpty)
        let enrolled = Enrolled(name: "box7", sources: own.sources)
        collector.perform(
            collector.link.enrolled(
                Self.peer, .enrolled(enrolled), now: collector.now, durable: collector.durable))
        #expect(collector.takeSent() == [.enrolled(enrolled)])
        #expect(collector.dismissed == [Self.peer])
        // No request is pending any more.
        collector.perform(
            collector.link.enrolled(
                Self.peer, .enrolled(enrolled), now: collector.now, durable: collector.durable))
        #expect(collector.takeSent().isEmpty)
    }

    @Test func `that cannot be granted is refused with the reason`() {
        var collector = CollectorHarness()
        collector.send(.enrol(Self.enrol), right: token)
        collector.perform(
            collector.link.enrolled(
                Self.peer, .refused("too late"), now: collector.now, durable: collector.durable))
        #expect(collector.takeRefusal() == Refusal(reason: .enrolment, text: "too late"))
        #expect(collector.dismissed == [Self.peer])
        #expect(collector.logs.first?.metadata["address"] == "10.0.0.1")
    }

    @Test func `of a closed connection is not answered`() {
        var collector = CollectorHarness()
        collector.send(.enrol(Self.enrol), right: token)
        collector.perform(
            collector.link.peerGone(Self.peer, now: collector.now, durable: collector.durable))
        collector.perform(
            collector.link.enrolled(
                Self.peer, .refused("too late"), now: collector.now, durable: collector.durable))
        #expect(collector.takeSent().isEmpty)
    }

    @Test func `is refused without keys and after Hello`() {
        var collector = CollectorHarness()
        collector.send(.enrol(Self.enrol))
        #expect(collector.takeRefusal()?.reason == .enrolment)
        collector.send(.hello(Fixtures.hello()), from: 2, right: own)
        _ = collector.takeSent(to: 2)
        collector.send(.enrol(Self.enrol), from: 2, right: own)
        #expect(collector.takeRefusal(of: 2)?.reason == .malformed)
        #expect(enrolments(&collector).isEmpty)
    }

    @Test func `is the only message that a one-time key may send`() {
        var collector = CollectorHarness()
        collector.send(.hello(Fixtures.hello()), right: token)
        let refusal = collector.takeRefusal()
        #expect(refusal?.reason == .unauthorized)
        #expect(refusal?.text.contains("is for enrolment only") == true)
    }

    @Test(arguments: [0, 31, 33])
    func `with a key of another size is malformed`(size: Int) {
        var enrol = Self.enrol
        enrol.publicKey = [UInt8](repeating: 1, count: size)
        #expect(throws: WireError.self) {
            try WireMessage(decoding: WireMessage.enrol(enrol).encoded())
        }
    }

    @Test func `is refused for its magic or version before anything else`() throws {
        var message = Self.enrol.encoded()
        message.publicKey.removeAll()
        message.major = 2
        #expect(throws: WireError.version(2)) { try Enrol(decoding: message) }
        message.magic = 1
        #expect(throws: WireError.magic(1)) { try Enrol(decoding: message) }
    }

    @Test func `is answered with valid names, and a limited number of them`() throws {
        let patterns = (0...WireLimits.patternsPerKey).compactMap { SourcePattern("c\($0)") }
        let long = Enrolled(name: "box", sources: patterns)
        #expect(
            try Enrolled(decoding: long.encoded()).sources
                == Array(patterns.prefix(WireLimits.patternsPerKey)))
        for wrong in ["a/b", "", "..", "a**"] {
            var message = long.encoded()
            message.sources = [wrong]
            #expect(throws: WireError.self) { try Enrolled(decoding: message) }
            message.sources = []
            message.name = wrong
            #expect(throws: WireError.self) { try Enrolled(decoding: message) }
        }
    }
}
