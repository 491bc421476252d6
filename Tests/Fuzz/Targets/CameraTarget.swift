import Media

@testable import RTSP

/// A script: a camera's bytes in pieces, datagrams, time, and what a recorder does. Nothing traps, a session ends once, and each access
/// unit is one that can be walked.
enum CameraTarget {
    static func run(_ bytes: [UInt8]) {
        var input = InputReader(bytes)
        let flags = input.byte()
        let transport: CameraSession.Transport = flags & 1 == 0 ? .tcp : .udp
        let url: RTSPURL
        do throws(RTSPError) {
            url = try RTSPURL(parsing: "rtsp://camera/live")
        } catch {
            preconditionFailure("\(error)")
        }
        var session = CameraSession(
            url: url, login: flags & 2 == 0 ? nil : CameraLogin(user: "u", password: "p"),
            transport: transport, agent: "fuzz", random: 1)
        var state = State()
        session.start(now: 0)
        while !input.isAtEnd {
            switch input.byte() % 5 {
            case 0: session.received(input.block(), arrivalNanoseconds: state.now)
            case 1:
                state.now += Int64(input.number()) * 1_000_000
                session.tick(now: state.now)
            case 2:
                let place = input.byte()
                session.receivedDatagram(
                    input.block(), track: Int(place >> 1), isControl: place & 1 == 1,
                    arrivalNanoseconds: state.now)
            case 3:
                let tracks = 0..<min(state.described, 2)
                if !tracks.isEmpty {
                    session.setUp(
                        tracks.map { .init(track: $0, port: transport == .udp ? 6_000 : nil) },
                        now: state.now)
                }
            default: session.play(now: state.now)
            }
            state.take(session.takeOutputs())
        }
        session.stop(now: state.now)
        session.disconnected("over")
        state.take(session.takeOutputs())
        precondition(state.hasEnded, "a session that is over says so")
    }

    private struct State {
        var now: Int64 = 0
        var described = 0
        var hasEnded = false
        var times = [UnitTimes(clockRate: 90_000), UnitTimes(clockRate: 48_000)]

        mutating func take(_ outputs: [CameraSession.Output]) {
            for output in outputs {
                precondition(!hasEnded, "nothing follows the end")
                switch output {
                case .send(let bytes): CameraTarget.check(sent: bytes)
                case .sendDatagram(_, _, _, let bytes): precondition(!bytes.isEmpty)
                case .described(let tracks, let refused):
                    described = tracks.count
                    precondition(tracks.count <= SessionDescription.maximumMedia)
                    for line in refused { precondition(line.utf8.count < 500) }
                case .refused(_, let reason): precondition(reason.utf8.count < 500)
                case .ready, .playing, .report, .foreign: break
                case .items(let track, let items):
                    for item in items {
                        CameraTarget.check(item)
                        place(item, min(track, 1))
                    }
                case .ended(let end):
                    hasEnded = true
                    precondition(!"\(end)".isEmpty)
                }
            }
        }

        private mutating func place(_ item: DepacketizedItem, _ track: Int) {
            for case .unit(let timed) in times[track].add(item, now: now) {
                precondition(timed.dtsNanoseconds <= timed.ptsNanoseconds)
                precondition(timed.durationNanoseconds >= 0)
            }
        }
    }

    /// Bytes from a camera never become a line of ours.
    private static func check(sent bytes: [UInt8]) {
        guard bytes.first != UInt8(ascii: "$") else { return }
        let lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: false)
        precondition(
            lines.last == "" && lines.dropLast().last == "", "a request ends with a blank line")
        precondition(lines.count <= 10, "a request of \(lines.count) lines")
        precondition(
            lines.allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } },
            "a control character in a request")
    }

    static func check(_ item: DepacketizedItem) {
        switch item {
        case .unit(let unit):
            precondition(!unit.data.isEmpty && unit.data.count <= AccessUnit.maximumBytes)
            precondition(unit.firstNumber <= unit.lastNumber)
        case .hole(let hole):
            precondition(hole.droppedUnits <= 1 && hole.missingPackets <= 3_000)
        }
    }
}

/// Packets of RTP with any payload, some missing, on their way to access units: those of pictures can be walked.
enum PayloadTarget {
    static func run(_ bytes: [UInt8]) {
        var input = InputReader(bytes)
        var window = PacketWindow(waitNanoseconds: Int64(input.byte()) * 1_000)
        var pictures = VideoCodec.all.map { VideoDepacketizer($0) }
        var sound = AACDepacketizer(
            AACPayload(
                .aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2),
                sizeBits: 13, indexBits: 3, indexDeltaBits: 3), clockRate: 48_000)
        let others = otherSound(input.byte())
        var latm = others.latm
        var now: Int64 = 0
        var sequence: UInt16 = 0
        var last: Int64 = -1
        while !input.isAtEnd {
            let flags = input.byte()
            sequence = flags & 0x40 == 0 ? sequence &+ 1 : input.number()
            now += Int64(flags & 0x0F)
            let packet = RTPPacket(
                payloadType: 96, marker: flags & 0x80 != 0, sequence: sequence,
                timestamp: UInt32(input.byte()), source: flags & 0x20 == 0 ? 1 : 2,
                payload: input.block())
            for ordered in window.add(packet, arrivalNanoseconds: now) {
                if ordered.loss == .restart { last = -1 }
                precondition(ordered.number > last, "packets are out of order")
                last = ordered.number
                for index in pictures.indices {
                    for item in pictures[index].add(ordered) {
                        CameraTarget.check(item)
                        if case .unit(let unit) = item { walk(unit.data) }
                    }
                }
                for item in sound.add(ordered) { CameraTarget.check(item) }
                for item in latm?.add(ordered) ?? [] { CameraTarget.check(item) }
                for item in others.foreign.flatMap({ $0.add(ordered) }) {
                    CameraTarget.check(item)
                }
            }
        }
        for index in pictures.indices {
            for item in pictures[index].finishStream() { CameraTarget.check(item) }
        }
    }

    /// LATM with up to 64 packets of AAC in an element, and sound that is encoded again.
    private static func otherSound(
        _ choice: UInt8
    ) -> (latm: (any Depacketizer)?, foreign: [SoundDepacketizer]) {
        let subframes = String(0x40 | Int(choice & 0x3F), radix: 16)
        let text = """
            m=audio 0 RTP/AVP 96
            a=rtpmap:96 MP4A-LATM/48000/2
            a=fmtp:96 cpresent=0;config=\(subframes)0023203fc0
            m=audio 0 RTP/AVP 0
            m=audio 0 RTP/AVP 10
            m=audio 0 RTP/AVP 96
            a=rtpmap:96 opus/48000/2
            """
        do throws(RTSPError) {
            var latm: (any Depacketizer)?
            var foreign: [SoundDepacketizer] = []
            for media in try SessionDescription(parsing: Array(text.utf8)).media {
                switch try CameraTrackDescription(media).coding {
                case .audio(let stream): latm = stream.payload.depacketizer(clockRate: 48_000)
                case .foreign(let sound): foreign.append(SoundDepacketizer(sound))
                case .video: preconditionFailure("a description of other sound")
                }
            }
            precondition(latm != nil && foreign.count == 3)
            return (latm, foreign)
        } catch {
            preconditionFailure("a description that is right: \(error)")
        }
    }

    private static func walk(_ data: [UInt8]) {
        do throws(BitstreamError) {
            let count = try nalUnitCount(in: data.span)
            precondition(count > 0)
        } catch {
            preconditionFailure("an access unit cannot be walked: \(error)")
        }
    }
}

/// A camera's description, challenge and reports as bytes.
enum DescriptionTarget {
    static func run(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        do throws(RTSPError) {
            let description = try SessionDescription(parsing: bytes)
            precondition(description.media.count <= SessionDescription.maximumMedia)
            for media in description.media { describe(media) }
        } catch {
            precondition(!error.description.isEmpty)
        }
        let offers = AuthenticationChallenge.offers(in: [text])
        precondition(offers.count <= AuthenticationChallenge.maximumOffers)
        if var own = DigestAuthenticator(
            offers, login: CameraLogin(user: "u", password: "p"), clientNonce: "0")
        {
            let header = own.authorization(method: "OPTIONS", uri: "rtsp://camera/")
            // Other line separators of Unicode do not end a header line.
            precondition(
                header.utf8.allSatisfy { $0 != 0x0A && $0 != 0x0D }, "a challenge adds a line")
        }
        _ = TransportHeader(parsing: text)
        _ = RTCPPacket.packets(in: bytes)
        do throws(RTSPError) {
            let url = try RTSPURL(parsing: text)
            // Requests leave out the zone of an address.
            let again = try RTSPURL(parsing: url.argument)
            precondition(again == url, "\(url) became \(again)")
        } catch {
            precondition(!error.description.isEmpty)
        }
        do throws(RTSPError) {
            let url = try RTSPURL(parsing: "rtsp://camera/live")
            let resolved = url.resolve(control: text, base: text)
            precondition(resolved.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
        } catch {
            preconditionFailure("\(error)")
        }
    }

    private static func describe(_ media: MediaDescription) {
        do throws(RTSPError) {
            let track = try CameraTrackDescription(media)
            precondition(track.clockRate > 0)
        } catch {
            precondition(error.description.utf8.count < 500)
        }
    }
}
