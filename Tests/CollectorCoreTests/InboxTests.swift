import Messaging
import Media
import Testing
import Wire

@testable import CollectorCore

/// Messages that wait to be processed together, and messages that do not.
@Suite struct InboxTests {
    private final class Connection {
        let socket: Socket

        init(_ socket: consuming Socket) { self.socket = socket }
    }

    /// Agents that are connected to a ROUTER.
    private struct Scene {
        let router: Connection
        let agents: [Connection]
        var peers = Peers()

        init(agents: Int) throws {
            let context = try Context()
            router = Connection(try Socket(.router, in: context))
            try router.socket.bind("inproc://inbox")
            self.agents = try (0..<agents).map { _ in
                let agent = Connection(try Socket(.dealer, in: context))
                try agent.socket.connect("inproc://inbox")
                return agent
            }
        }

        /// A received message.
        mutating func message(
            of agent: Int, _ message: WireMessage, payloadBytes: Int? = nil
        ) throws -> AgentMessage {
            var parts = [OutgoingPart.bytes(message.encoded())]
            if let payloadBytes { parts.append(.bytes([UInt8](repeating: 1, count: payloadBytes))) }
            _ = try agents[agent].socket.send(parts)
            let deadline = ContinuousClock.now + .seconds(30)
            while ContinuousClock.now < deadline {
                guard let received = try router.socket.receive(maximumParts: 3) else { continue }
                let peer = PeerID(received.parts[0].bytes)
                let sender =
                    peers.known(sending: received.parts[1], peer: peer)
                    ?? peers.welcome(
                        received.parts[1], peer: peer, hasKeys: false, now: 0, account: { _ in nil }
                    ).sender
                return AgentMessage(
                    sender: sender, header: received.parts[1],
                    payload: received.parts.count > 2 ? received.parts[2] : nil, extraParts: 0,
                    arrivedNanoseconds: 0)
            }
            throw MessagingError.notASocket(endpoint: "no message came")
        }
    }

    private static func samples(_ sequence: UInt64 = 1) -> WireMessage {
        .samples(
            Samples(
                source: 0, firstSequence: sequence, epoch: 1,
                payloadDigest: [UInt8](repeating: 0, count: 32),
                runs: [
                    SampleRun(
                        track: .video, sizes: [3], dtsNanoseconds: [0], ptsOffsetsNanoseconds: [],
                        durationsNanoseconds: [1], flags: [.keyframe])
                ]))
    }

    @Test func `samples and heartbeats wait, and everything else does not`() throws {
        var scene = try Scene(agents: 1)
        var inbox = Inbox()
        inbox.append(try scene.message(of: 0, Self.samples(), payloadBytes: 1_000))
        inbox.append(try scene.message(of: 0, .heartbeat(Heartbeat())))
        #expect(!inbox.isUrgent)
        inbox.append(try scene.message(of: 0, .goodbye(Goodbye(source: 0, sequence: 1, text: ""))))
        #expect(inbox.isUrgent)
        // In order, and only once.
        let headers = inbox.take().map { event in
            if case .message(let message) = event { message.payload?.count ?? 0 } else { -1 }
        }
        #expect(headers == [1_000, 0, 0])
        #expect(inbox.take().isEmpty && !inbox.isUrgent)
    }

    @Test func `samples of watched sources are urgent`() throws {
        var scene = try Scene(agents: 2)
        var inbox = Inbox()
        let other = try scene.message(of: 0, Self.samples(), payloadBytes: 10)
        let watched = try scene.message(of: 1, Self.samples(), payloadBytes: 10)
        inbox.watchedPeers = [watched.sender.id]
        inbox.append(other)
        #expect(!inbox.isUrgent)
        inbox.append(watched)
        #expect(inbox.isUrgent)
    }

    @Test func `checks the credit only of senders of many bytes`() throws {
        var scene = try Scene(agents: 3)
        var inbox = Inbox()
        inbox.roomOfPeer = 100_000
        func looks(isShort: Bool = false) -> [PeerID] {
            var seen: [PeerID] = []
            inbox.checkCredit {
                seen.append($0.id)
                return isShort
            }
            return seen
        }
        for agent in 0..<3 {
            inbox.append(try scene.message(of: agent, Self.samples(), payloadBytes: 90_000))
        }
        #expect(looks().isEmpty && !inbox.isUrgent)
        let more = try scene.message(of: 1, Self.samples(2), payloadBytes: 10_000)
        inbox.append(more)
        #expect(looks() == [more.sender.id] && !inbox.isUrgent)
        #expect(more.sender.queuedBytes >= 100_000)
        // Only when there is more.
        #expect(looks().isEmpty)
        inbox.append(more)
        #expect(looks(isShort: true) == [more.sender.id] && inbox.isUrgent)
        // Processed messages no longer count.
        _ = inbox.take()
        inbox.append(try scene.message(of: 1, Self.samples(3), payloadBytes: 90_000))
        #expect(looks(isShort: true).isEmpty && !inbox.isUrgent)
    }

    @Test func `is urgent at the largest window of one connection`() throws {
        var scene = try Scene(agents: 1)
        var inbox = Inbox()
        inbox.roomOfPeer = Int.max
        let message = try scene.message(of: 0, Self.samples(), payloadBytes: 1 << 20)
        inbox.append(message)
        #expect(!inbox.isUrgent)
        inbox.append(message)
        #expect(inbox.isUrgent)
    }

    @Test func `headers are counted, and the oldest message is remembered`() throws {
        var scene = try Scene(agents: 1)
        var inbox = Inbox()
        #expect(inbox.oldestNanoseconds == nil)
        var message = try scene.message(of: 0, Self.samples())
        let rest = (1 << 21) / message.header.count
        for place in 0...rest {
            #expect(!inbox.isUrgent || place > 1_000)
            message.arrivedNanoseconds = Int64(place + 7)
            inbox.append(message)
            #expect(inbox.oldestNanoseconds == 7)
        }
        #expect(message.sender.queuedBytes == (rest + 1) * message.header.count)
        _ = inbox.take()
        #expect(inbox.oldestNanoseconds == nil)
    }

    @Test func `is urgent when a connection closes, whose messages come first`() throws {
        var scene = try Scene(agents: 1)
        var inbox = Inbox()
        let message = try scene.message(of: 0, Self.samples(), payloadBytes: 10)
        inbox.append(message)
        inbox.appendGone(message.sender.id)
        #expect(inbox.isUrgent)
        let order = inbox.take().map { event in
            if case .gone = event { "gone" } else { "samples" }
        }
        #expect(order == ["samples", "gone"])
    }

    @Test func `is bounded in messages and in bytes`() throws {
        var scene = try Scene(agents: 1)
        var inbox = Inbox()
        let heartbeat = try scene.message(of: 0, .heartbeat(Heartbeat()))
        for _ in 0..<1_023 { inbox.append(heartbeat) }
        #expect(!inbox.isUrgent && !inbox.isLarge)
        inbox.append(heartbeat)
        #expect(inbox.isUrgent && inbox.isLarge)
        _ = inbox.take()
        #expect(!inbox.isLarge)

        var crowd = try Scene(agents: 16)
        for agent in 0..<16 {
            #expect(!inbox.isUrgent, "\(agent)")
            inbox.append(try crowd.message(of: agent, Self.samples(), payloadBytes: (1 << 20)))
        }
        #expect(inbox.isLarge)
    }
}
