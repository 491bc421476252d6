import Media

@testable import Wire

/// The collector's end of the protocol with three arbitrary peers, while time passes and the disk writes.
///
/// A step is a byte: its low three bits select the event, the next two the peer.
enum CollectorTarget {
    enum Step: UInt8 {
        case message, messageWithPayload, tick, persist, release, peerGone, rights, sessionBegan
    }

    static func run(_ bytes: [UInt8]) {
        var input = InputReader(bytes)
        var bed = CollectorBed()
        while !input.isAtEnd {
            let code = input.byte()
            guard let step = Step(rawValue: code & 7) else { return }
            bed.take(step, peer: code >> 3 & 3, &input)
        }
        bed.check()
    }
}

/// Records reported durable, by source and spool.
private struct Durable: DurabilityLookup {
    var records: [String: [SpoolID: UInt64]] = [:]

    func archived(source: String, spool: SpoolID) -> ArchivedRecords {
        ArchivedRecords(persisted: records[source]?[spool] ?? 0)
    }
}

/// A collector's link and the state that the rest of a collector keeps for it.
private struct CollectorBed {
    private var link = CollectorLink(settings: CollectorLinkSettings(software: "fuzz"))
    private var durable = Durable()
    private var now: Int64 = 1_000_000_000
    /// Media that has been handed on and not released, by source.
    private var outstanding: [String: MediaAmount] = [:]

    mutating func take(_ step: CollectorTarget.Step, peer: UInt8, _ input: inout InputReader) {
        switch step {
        case .message, .messageWithPayload:
            let header = input.block()
            let size = step == .messageWithPayload ? payloadSize(of: header, &input) : nil
            now += 1_000_000
            perform(
                link.received(
                    IncomingMessage(
                        peer: PeerID([peer]), address: "10.0.0.\(peer)",
                        right: peer == 3 ? Self.right : nil, header: header,
                        payloadSizeBytes: size), now: now,
                    durable: durable))
        case .tick:
            now += Int64(input.byte()) * 50_000_000
            perform(link.tick(now: now, durable: durable))
        case .persist:
            for (name, source) in link.sources {
                durable.records[name, default: [:]][source.spool] = source.received
                link.becameDurable(source: name, spool: source.spool, through: source.received)
            }
        case .release:
            for (name, amount) in outstanding { link.released(amount, source: name) }
            outstanding.removeAll()
        case .peerGone:
            perform(link.peerGone(PeerID([peer]), now: now, durable: durable))
        case .rights:
            let right = input.byte() & 1 == 0 ? nil : Self.right
            perform(
                link.rightChanged(
                    of: PeerID([peer]), to: right, else: "revoked", now: now, durable: durable))
        case .sessionBegan:
            link.sessionBegan("session")
        }
    }

    private static let right = WritingRight(
        name: "box", sources: SourcePattern("stage").map { [$0] } ?? [])

    /// Mostly the header's size; any other is refused and leaves no state.
    private func payloadSize(of header: [UInt8], _ input: inout InputReader) -> Int? {
        let other = input.byte()
        if other > 0 { return Int(other) * 1_000 }
        do throws(WireError) {
            guard case .samples(let samples) = try WireMessage(decoding: header) else { return 0 }
            return samples.payloadSizeBytes
        } catch {
            return 0
        }
    }

    private mutating func perform(_ actions: [CollectorAction]) {
        for action in actions {
            switch action {
            case .samples(let source, let samples):
                outstanding[source, default: MediaAmount()] += samples.amount
            case .send(_, let header):
                do throws(WireError) {
                    _ = try WireMessage(decoding: header)
                } catch {
                    preconditionFailure("the collector says what nobody can read: \(error)")
                }
            case .dismissed, .turnedAway, .opened, .gap, .trackUpdate, .goodbye, .clockExchanges,
                .health,
                .closed, .report, .enrol, .log:
                continue
            }
        }
    }

    func check() {
        for connection in link.connections.values {
            for name in connection.accounts.map(\.name) {
                let (persisted, released) = link.watermarks(of: name, on: connection, durable)
                precondition(persisted <= link.sources[name]?.received ?? 0, name)
                precondition(released ?? 0 <= persisted, name)
            }
        }
        for (name, source) in link.sources {
            precondition(
                source.outstanding == outstanding[name, default: MediaAmount()],
                "\(name): \(source.outstanding) outstanding, \(outstanding[name] ?? MediaAmount()) handed on"
            )
            precondition(
                source.outstanding.sizeBytes <= WireLimits.creditWindowBytes, name)
            let limit = CollectorBudgets().connectionMemoryBytes
            precondition(source.heldBytes <= limit + 2 * WireLimits.creditWindowBytes, name)
        }
    }
}
