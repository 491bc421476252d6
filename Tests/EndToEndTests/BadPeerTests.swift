import Foundation
import Testing
import Wire

extension EndToEnd {
    /// Peers that break the protocol are refused with a reason and do not affect other peers.
    @Suite(.serialized) struct BadPeerTests {
        /// A peer's protocol error.
        enum Misdeed: String, CaseIterable, Sendable, CustomTestStringConvertible {
            case wrongMagic, garbage, helloCutShort, payloadCutShort, payloadMissing
            case oversizedHeader, unknownVersion, unknownConnection
            case sequenceStraddles, sequenceSkips, countGoesBack, longNALUnit

            var testDescription: String { rawValue }

            /// The expected reason and text of the refusal.
            var answer: (reason: RefusalReason, text: String) {
                switch self {
                case .wrongMagic: (.malformed, "this is not a tributary agent")
                case .garbage, .helloCutShort: (.malformed, "not a valid message of this protocol")
                case .payloadCutShort: (.malformed, "the payload has 7 bytes")
                case .payloadMissing: (.malformed, "Samples came in 1 parts")
                case .oversizedHeader: (.limit, "a header of 262145 bytes")
                case .unknownVersion: (.version, "protocol version 2 is not supported")
                case .unknownConnection: (.unknownConnection, "send Hello")
                case .sequenceStraddles: (.sequence, "overlap 2")
                case .sequenceSkips: (.sequence, "received record 7, expected 3")
                case .countGoesBack: (.sequence, "its numbers went back")
                case .longNALUnit: (.malformed, "record 3")
                }
            }

            /// Commits the error on its own connection.
            func commit(to endpoint: String) throws -> Refusal? {
                var stranger = try Stranger(to: endpoint)
                let hello = Stranger.hello(source: rawValue)
                switch self {
                case .wrongMagic:
                    try stranger.send(patched(hello, [0x0D, 0x42, 0x49, 0x52, 0x54], at: 1))
                case .unknownVersion:
                    // The field behind the magic: major, 1.
                    try stranger.send(patched(hello, [0x54, 0x10, 0x01], at: 2, to: 2))
                case .garbage:
                    try stranger.send([UInt8](repeating: 0xFF, count: 64))
                case .helloCutShort:
                    try stranger.send(Array(hello.prefix(hello.count / 2)))
                case .oversizedHeader:
                    try stranger.send(
                        [UInt8](repeating: 0, count: WireLimits.headerBytes + 1))
                case .unknownConnection:
                    let (header, payload) = Stranger.samples([Stranger.picture], from: 1)
                    try stranger.send(header, payload)
                case .payloadCutShort, .payloadMissing, .sequenceStraddles, .sequenceSkips,
                    .countGoesBack, .longNALUnit:
                    try misbehave(&stranger, after: hello)
                }
                return try stranger.refusal()
            }

            /// Errors possible only after the welcome: sends records 1 and 2 first.
            private func misbehave(_ stranger: inout Stranger, after hello: [UInt8]) throws {
                try stranger.send(hello)
                let welcome = try #require(try stranger.answer())
                guard case .welcome = welcome else {
                    throw StageFailure(description: "no Welcome, but \(welcome)")
                }
                let first = Stranger.samples([Stranger.picture, Stranger.picture], from: 1)
                try stranger.send(first.header, first.payload)
                let next = Stranger.samples([Stranger.picture], from: 3)
                switch self {
                case .payloadCutShort:
                    try stranger.send(next.header, Array(next.payload.dropLast()))
                case .payloadMissing:
                    try stranger.send(next.header)
                case .sequenceStraddles:
                    let back = Stranger.samples([Stranger.picture, Stranger.picture], from: 2)
                    try stranger.send(back.header, back.payload)
                case .sequenceSkips:
                    let ahead = Stranger.samples([Stranger.picture], from: 7)
                    try stranger.send(ahead.header, ahead.payload)
                case .countGoesBack:
                    let health = SourceHealth(
                        source: 0, keptBytes: 0, newestSequence: 1, lostSamples: 0)
                    try stranger.send(
                        WireMessage.heartbeat(Heartbeat(health: [health])).encoded())
                case .longNALUnit:
                    var picture = Stranger.picture
                    picture[3] = 200
                    let long = Stranger.samples([picture], from: 3)
                    try stranger.send(long.header, long.payload)
                case .wrongMagic, .garbage, .helloCutShort, .oversizedHeader, .unknownVersion,
                    .unknownConnection:
                    preconditionFailure("\(self) needs no welcome")
                }
            }

            /// `bytes` with another value at an offset from `pattern`.
            private func patched(
                _ bytes: [UInt8], _ pattern: [UInt8], at offset: Int, to value: UInt8 = 0xEE
            ) throws -> [UInt8] {
                let start = try #require(Data(bytes).range(of: Data(pattern))?.lowerBound)
                var changed = bytes
                changed[start + offset] = value
                return changed
            }
        }

        @Test(arguments: Misdeed.allCases)
        func `a peer that breaks the protocol is refused and logged once`(
            _ misdeed: Misdeed
        ) async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                let refusal = try #require(try misdeed.commit(to: stage.endpoint))
                #expect(refusal.reason == misdeed.answer.reason)
                #expect(refusal.text.contains(misdeed.answer.text))
                try await collector.says("refused: ")
                let lines = try collector.complaints.split(separator: "\n")
                    .filter { $0.contains(misdeed.answer.text) }
                #expect(lines.count == 1)
                #expect(collector.isRunning)
            }
        }

        @Test func `an agent's recording is intact beside invalid peers`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                let agent = try stage.testAgent("camera", "--duration", "4s")
                let file = try await stage.holds(1, of: "camera")
                for misdeed in Misdeed.allCases {
                    #expect(try misdeed.commit(to: stage.endpoint) != nil, "\(misdeed)")
                }
                do {
                    // Past the socket's limit libzmq closes the connection silently.
                    let stranger = try Stranger(to: stage.endpoint)
                    try stranger.send(
                        Stranger.hello(source: "flood"),
                        [UInt8](repeating: 0, count: WireLimits.payloadBytes + 1))
                }
                try await agent.succeeds()
                collector.signal(SIGINT)
                // Some of the strangers' records were refused, so the collector exits with an error and reports it.
                let outcome = try await collector.outcome()
                #expect(outcome.status == 1)
                #expect(
                    outcome.complaintLines.last?.contains("not everything was recorded") == true)
                #expect(outcome.complaints.contains("120 pictures"))
                #expect(try TopLevelBoxes(of: file).areOrdinary)
                try await expectAudio(stage)
            }
        }
    }
}
