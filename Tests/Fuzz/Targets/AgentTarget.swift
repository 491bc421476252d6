import Media

@testable import Wire

/// The agent's end of the protocol with an arbitrary collector, while the camera runs.
enum AgentTarget {
    enum Step: UInt8 {
        case message, sample, keyframe, tick, connect, disconnect, loss, goodbye
    }

    static func run(_ bytes: [UInt8]) {
        var input = InputReader(bytes)
        var settings = AgentLinkSettings(
            endpoint: "tcp://collector:1", software: "fuzz", agent: "box", spool: Seeds.identity,
            epochs: [Epoch(number: 1, identity: Seeds.epoch)])
        settings.window.memoryBytes = 40_000
        var link = AgentLink<[UInt8]>(settings: settings)
        _ = link.addSource("stage", formats: Seeds.formats)
        var now: Int64 = 1_000_000_000
        var hasEnded = false
        while !input.isAtEnd {
            now += 1_000_000
            guard let step = Step(rawValue: input.byte() & 7) else { return }
            switch step {
            case .message: perform(link.received(input.block(), now: now))
            case .sample, .keyframe:
                guard !hasEnded else { continue }
                perform(
                    link.add(to: 0, now: now) {
                        KeptRecord(
                            [Seeds.run(isKeyframe: step == .keyframe, bytes: 1_000, at: now)],
                            digest: [UInt8](repeating: 1, count: 32),
                            payload: [UInt8](repeating: 7, count: 1_000), at: $0)
                    })
            case .tick:
                now += Int64(input.byte()) * 50_000_000
                perform(link.tick(now: now))
            case .connect: perform(link.connected(now: now))
            case .disconnect: perform(link.disconnected(now: now))
            case .loss:
                guard !hasEnded else { continue }
                let loss = Loss(
                    track: .video, cause: .encoderOverload, startNanoseconds: now,
                    durationNanoseconds: 1, samples: 1, text: "")
                perform(link.add(to: 0, now: now) { KeptRecord(loss, at: $0) })
            case .goodbye:
                guard !hasEnded else { continue }
                hasEnded = true
                perform(link.add(to: 0, now: now) { KeptRecord(goodbye: "end", at: $0) })
            }
        }
        precondition(link.memoryBytes >= 0 && link.keptBytes >= 0)
    }

    private static func perform(_ actions: [AgentAction<[UInt8]>]) {
        for action in actions {
            guard case .send(let header, _) = action else { continue }
            do throws(WireError) {
                _ = try WireMessage(decoding: header)
            } catch {
                preconditionFailure("the agent says what nobody can read: \(error)")
            }
        }
    }
}
