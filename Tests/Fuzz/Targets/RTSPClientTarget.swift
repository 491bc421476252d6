import Media
import RTSPServer

/// A script: a client's bytes in pieces, time, and what a server answers. Nothing traps, nothing follows the end, no byte of the client's
/// becomes a line of an answer, and what waits is bounded.
enum RTSPClientTarget {
    private static let presentation = ServedPresentation(
        name: "stage",
        formats: [
            .video(
                .h264(
                    sequenceParameterSets: [
                        [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
                    ], pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16)),
            .audio(.aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2)),
        ], extent: .live)

    static func run(_ bytes: [UInt8]) {
        var input = InputReader(bytes)
        let ports = input.byte() & 1 == 0 ? nil : ServerPorts(rtp: 6_000, rtcp: 6_001)
        var session = ServerSession(identifier: "0123456789abcdef", ports: ports, now: 0)
        var now: Int64 = 0
        var isOver = false
        func take(_ actions: [ServerSession.Action]) {
            for action in actions {
                precondition(!isOver, "nothing follows the end")
                switch action {
                case .send(let bytes): check(sent: bytes)
                case .resolve(let wish): check(wish)
                case .play(_, let tracks):
                    precondition((1...2).contains(tracks.count))
                    for case .datagrams(let rtp, let rtcp) in tracks.values {
                        precondition(ports != nil && rtp >= 1_024 && rtcp >= 1_024)
                    }
                case .pause, .tearDown: break
                case .close(let reason):
                    precondition(!reason.isEmpty && reason.utf8.count < 500)
                    isOver = true
                }
            }
        }
        while !input.isAtEnd {
            switch input.byte() % 6 {
            case 0, 1: take(session.receive(input.block(), now: now))
            case 2:
                now += Int64(input.number()) * 1_000_000
                take(session.tick(takesPackets: input.byte() & 1 == 0, now: now))
            case 3:
                take(session.resolved(.granted(presentation, sources: [1, 2]), now: now))
            case 4:
                let statuses: [ServerStatus] = [.unauthorized, .notFound, .unavailable]
                let status = statuses[Int(input.byte() % 3)]
                take(session.resolved(.refused(status), now: now))
                take(session.failed(status, now: now))
            default:
                take(
                    session.began(
                        ServerSession.Beginning(
                            startNanoseconds: nil, tracks: [0: .init(sequence: 1, timestamp: 2)]),
                        now: now))
            }
        }
    }

    private static func check(_ wish: ServerSession.Lookup) {
        switch wish.resource {
        case .live(let source): precondition(DirectoryName.isValid(source))
        case .recording(let session, let source, let from):
            precondition(DirectoryName.isValid(session) && DirectoryName.isValid(source))
            precondition(from?.utf8.count ?? 0 < 200)
        }
    }

    private static func check(sent bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        let head = text.split(separator: "\r\n\r\n", omittingEmptySubsequences: false)[0]
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
        precondition(lines[0].hasPrefix("RTSP/1.0 "), "an answer begins with its status")
        precondition(lines.count <= 8, "an answer of \(lines.count) lines")
        precondition(
            lines.allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } },
            "a control character in an answer")
    }
}

/// Samples with any bytes, as a damaged recording may have them, on their way to packets.
enum ServedSampleTarget {
    static func run(_ bytes: [UInt8]) {
        var input = InputReader(bytes)
        let formats: [TrackFormat] = [
            .video(
                .h264(
                    sequenceParameterSets: [
                        [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
                    ], pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16)),
            .video(VideoFormat(.h265, parameterSets: [], width: 16, height: 16)),
            .audio(.aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2)),
        ]
        var senders = formats.enumerated().compactMap {
            TrackSender(
                ServedTrack(index: $0.offset % 2, format: $0.element), random: (1, 2))
        }
        precondition(senders.count == formats.count)
        while !input.isAtEnd {
            let flags = input.byte()
            let index = Int(flags & 0x7F) % senders.count
            let sample = input.block()
            var batch = PacketBatch()
            do throws(BitstreamError) {
                try senders[index].append(
                    sample, ticks: Int64(flags), isKeyframe: flags & 0x80 != 0, to: &batch)
            } catch {
                precondition(!"\(error)".isEmpty)
            }
            for packet in batch.packets {
                precondition(packet.range.count <= TrackSender.maximumPayloadBytes + 12)
                precondition(batch.bytes[packet.range.lowerBound - 4] == UInt8(ascii: "$"))
            }
        }
    }
}
