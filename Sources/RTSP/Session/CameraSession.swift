import Media

/// State machine of an RTSP 1.0 client (RFC 2326): bytes and times in, bytes and access units out.
///
/// It has no socket and no clock. The caller executes ``takeOutputs()``, passes received data, and calls ``tick(now:)`` at
/// ``deadlineNanoseconds`` at the latest. One request is outstanding at a time:
///
///     start ─► OPTIONS ─► DESCRIBE ─► described ─► setUp ─► SETUP… ─► ready ─► play ─► PLAY ─► playing ─► stop ─► TEARDOWN
///
/// A 401 response repeats the request with credentials, also later in the session. The end is reported once, as
/// ``Output/ended(_:)``; reconnecting needs a new session.
package struct CameraSession: Sendable {
    package enum Transport: Hashable, Sendable {
        /// Packets are interleaved with messages on the control connection.
        case tcp
        /// Packets are datagrams.
        case udp
    }

    /// A track to set up.
    package struct Wanted: Hashable, Sendable {
        /// Index in the description.
        package var track: Int
        /// Local port for RTP; RTCP uses the next one. Nil over TCP.
        package var port: UInt16?

        package init(track: Int, port: UInt16? = nil) {
            self.track = track
            self.port = port
        }
    }

    /// Actions and events for the caller.
    package enum Output: Hashable, Sendable {
        /// Send on the connection.
        case send([UInt8])
        /// Send to the camera's RTP or RTCP port of a track.
        case sendDatagram(track: Int, port: UInt16, isControl: Bool, [UInt8])
        /// The tracks that can be recorded, and the reasons why others cannot. The caller continues with
        /// ``CameraSession/setUp(_:now:)``.
        case described([CameraTrackDescription], refused: [String])
        /// The camera refuses an optional track: the session continues without it. One line.
        case refused(track: Int, String)
        /// All requested tracks are set up. The caller continues with ``CameraSession/play(now:)``.
        case ready
        case playing
        case items(track: Int, [DepacketizedItem])
        case report(track: Int, SenderReport, arrivalNanoseconds: Int64)
        /// An optional track has other packets than described; the rest of a sentence about the camera. Reported once until the
        /// described ones arrive.
        case foreign(track: Int, String)
        /// The last output.
        case ended(SessionEnd)
    }

    private enum Phase: Hashable {
        case idle
        case asking
        /// The caller's next call is expected.
        case waiting
        case playing
        case stopping
        case ended
    }

    private enum Purpose: Hashable {
        case options, describe, setUp(Int), play(Int), keepAlive, teardown
    }

    /// State of the keep-alive that checks a silent camera.
    private enum Probe: Hashable {
        case none, sent, answered
    }

    private struct Pending {
        var request: RTSPRequest
        var purpose: Purpose
        var sequence: UInt32
        var deadline: Int64
        /// Number of 401 responses.
        var refusals = 0
        /// A response with another number. It may be a second one to an earlier request.
        var misnumbered: RTSPResponse?
    }

    private struct Receiving {
        var wanted: Wanted
        var uri: String
        var receiver: TrackReceiver
        var serverPorts: (rtp: UInt16, rtcp: UInt16)?
        /// Arrival of the last packet of the described payload type.
        var heard: Int64
        /// ``Output/foreign(track:_:)`` was reported.
        var isForeignTold = false
    }

    /// Response timeout.
    static let answerNanoseconds: Int64 = 5_000_000_000
    /// Time without video after which a keep-alive checks the camera.
    static let silenceNanoseconds: Int64 = 3_000_000_000
    /// Response timeout of a keep-alive.
    static let probeNanoseconds: Int64 = 3_000_000_000
    /// Time without packets after which the session fails, even if the camera responds.
    static let longestSilenceNanoseconds: Int64 = 10_000_000_000
    /// Wait for reordered datagrams.
    package static let reorderNanoseconds: Int64 = 100_000_000
    private static let reportNanoseconds: Int64 = 5_000_000_000
    /// Default session timeout (RFC 2326 §12.37).
    private static let usualTimeoutSeconds: Int64 = 60
    private static let longestSessionBytes = 512
    private static let redirections: Set<Int> = [301, 302, 303, 307, 308]
    /// 401 responses to requests with credentials until the session ends.
    private static let mostRefusals = 2

    private let url: RTSPURL
    private let login: CameraLogin?
    private let transport: Transport
    private let agent: String
    private let reporter: UInt32
    private var random: UInt64

    private var phase = Phase.idle
    private var reader = RTSPReader()
    private var pending: Pending?
    private var sequence: UInt32 = 0
    /// The camera's responses do not have the numbers of the requests.
    private var isUnnumbered = false
    private var authenticator: DigestAuthenticator?
    private var sessionID: String?
    private var keepAliveNanoseconds = usualTimeoutSeconds / 2 * 1_000_000_000
    private var hasGetParameter = false
    private var base: String?
    private var aggregate = ""
    private var tracks: [CameraTrackDescription] = []
    private var queue: [Wanted] = []
    private var receiving: [Receiving] = []
    /// The channels of ``receiving``, in its order.
    private var channels: [TrackChannels] = []
    private var keepAliveAt: Int64 = .max
    private var reportAt: Int64 = .max
    private var probe = Probe.none
    private var outputs: [Output] = []

    /// - Parameters:
    ///   - agent: the `User-Agent` header.
    ///   - random: unpredictable numbers, for nonces and identifiers.
    package init(
        url: RTSPURL, login: CameraLogin?, transport: Transport, agent: String, random: UInt64
    ) {
        self.url = url
        self.login = login
        self.transport = transport
        self.agent = agent
        self.random = random
        reporter = UInt32(truncatingIfNeeded: random >> 32)
    }

    // MARK: Inputs

    /// The connection is open.
    package mutating func start(now: Int64) {
        precondition(phase == .idle, "a session starts once")
        phase = .asking
        ask(RTSPRequest(.options, url.text), .options, now)
    }

    /// Sets up tracks.
    package mutating func setUp(_ wanted: [Wanted], now: Int64) {
        guard phase == .waiting else { return }
        precondition(!wanted.isEmpty && wanted.allSatisfy { tracks.indices.contains($0.track) })
        phase = .asking
        queue = wanted
        setUpNext(now)
    }

    /// Starts the stream.
    package mutating func play(now: Int64) {
        guard phase == .waiting, !receiving.isEmpty else { return }
        phase = .asking
        openFirewalls()
        ask(playRequest(aggregate), .play(receiving.count), now)
    }

    /// Outputs what is held back, and tears the session down; it ends with the response, or on timeout. Later packets are ignored.
    package mutating func stop(now: Int64) {
        guard phase != .ended, phase != .stopping else { return }
        guard sessionID != nil else { return end(.stopped) }
        finishReceivers()
        phase = .stopping
        ask(RTSPRequest(.teardown, aggregate), .teardown, now)
    }

    /// The connection was closed.
    package mutating func disconnected(_ reason: String) {
        end(phase == .stopping ? .stopped : .closed(reason))
    }

    /// Processes bytes of the connection.
    package mutating func received(_ bytes: some Sequence<UInt8>, arrivalNanoseconds now: Int64) {
        guard phase != .ended else { return }
        reader.add(bytes)
        do throws(RTSPError) {
            while phase != .ended, let item = try reader.next() {
                switch item {
                case .response(let response): answered(response, now)
                case .request(let head): answer(head)
                case .packet(let channel, let bytes): take(bytes, channel: channel, now)
                }
            }
        } catch {
            end(.broken("\(error)"))
        }
    }

    /// Processes a datagram.
    package mutating func receivedDatagram(
        _ bytes: [UInt8], track: Int, isControl: Bool, arrivalNanoseconds now: Int64
    ) {
        guard phase != .ended, phase != .stopping,
            let place = receiving.firstIndex(where: { $0.wanted.track == track })
        else { return }
        if isControl {
            takeControl(bytes, place, now)
        } else {
            takeMedia(bytes, place, now)
        }
    }

    /// Checks timeouts.
    package mutating func tick(now: Int64) {
        guard phase != .ended else { return }
        for place in receiving.indices {
            give(receiving[place].receiver.tick(now: now), place)
        }
        if phase == .playing, decisive.allSatisfy(\.receiver.hasEnded) {
            return end(.closed("it has ended its stream"))
        }
        if let pending, now >= pending.deadline { unanswered(pending, now) }
        guard phase == .playing else { return }
        if now >= reportAt { sendReports(now) }
        watchSilence(now)
        guard phase == .playing, pending == nil else { return }
        if now >= keepAliveAt { keepAlive(now) }
    }

    /// When ``tick(now:)`` is due.
    package var deadlineNanoseconds: Int64 {
        var deadline = pending?.deadline ?? .max
        for own in receiving { deadline = min(deadline, own.receiver.deadlineNanoseconds ?? .max) }
        guard phase == .playing else { return deadline }
        let next = pending == nil ? keepAliveAt : .max
        return min(deadline, reportAt, next, heard.clampedAdding(nextSilence))
    }

    package mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    // MARK: Requests

    private mutating func ask(_ request: RTSPRequest, _ purpose: Purpose, _ now: Int64) {
        let timeout = purpose == .keepAlive ? Self.probeNanoseconds : Self.answerNanoseconds
        pending = Pending(
            request: request, purpose: purpose, sequence: 0,
            deadline: now.clampedAdding(timeout))
        send()
    }

    /// Sends or resends the pending request.
    private mutating func send() {
        guard var own = pending else { return }
        sequence &+= 1
        own.sequence = sequence
        pending = own
        var request = own.request
        request.headers.append(("User-Agent", agent))
        if let sessionID { request.headers.append(("Session", sessionID)) }
        if var authenticator {
            request.headers.append(
                (
                    "Authorization",
                    authenticator.authorization(method: request.method.rawValue, uri: request.uri)
                ))
            self.authenticator = authenticator
        }
        outputs.append(.send(request.bytes(sequence: sequence)))
    }

    /// Responds to a request of the camera: it may tear the session down, and nothing else.
    private mutating func answer(_ request: RTSPHead) {
        let isTeardown = request.firstLine.hasPrefix("TEARDOWN ")
        let status = isTeardown ? "200 OK" : "501 Not Implemented"
        let sequence = request.value("cseq").flatMap { UInt32($0) }
        let line = sequence.map { "CSeq: \($0)\r\n" } ?? ""
        outputs.append(.send(Array("RTSP/1.0 \(status)\r\n\(line)\r\n".utf8)))
        if isTeardown { disconnected("it has torn the session down") }
    }

    private mutating func setUpNext(_ now: Int64) {
        guard let next = queue.first else {
            phase = .waiting
            outputs.append(.ready)
            return
        }
        var request = RTSPRequest(
            .setup, url.resolve(control: tracks[next.track].control, base: base))
        let channel = receiving.count * 2
        let ports = next.port.map { "client_port=\($0)-\($0 &+ 1)" }
        request.headers = [
            (
                "Transport",
                transport == .tcp
                    ? "RTP/AVP/TCP;unicast;interleaved=\(channel)-\(channel + 1)"
                    : "RTP/AVP;unicast;\(ports ?? "")"
            )
        ]
        ask(request, .setUp(next.track), now)
    }

    /// Sends a datagram to each port from which packets will come: stateful firewalls then let them pass. The first receiver report
    /// does this for RTCP.
    private mutating func openFirewalls() {
        for own in receiving {
            guard let port = own.serverPorts?.rtp else { continue }
            let packet = RTPPacket(
                payloadType: 0, marker: false, sequence: 0, timestamp: 0, source: 0, payload: [])
            outputs.append(
                .sendDatagram(
                    track: own.wanted.track, port: port, isControl: false, packet.bytes))
        }
    }

    private func playRequest(_ uri: String) -> RTSPRequest {
        var request = RTSPRequest(.play, uri)
        request.headers = [("Range", "npt=0.000-")]
        return request
    }

    private mutating func keepAlive(_ now: Int64) {
        keepAliveAt = now.clampedAdding(keepAliveNanoseconds)
        let method: RTSPRequest.Method = hasGetParameter ? .getParameter : .options
        ask(RTSPRequest(method, aggregate), .keepAlive, now)
    }

    private mutating func unanswered(_ own: Pending, _ now: Int64) {
        if let response = own.misnumbered {
            isUnnumbered = true
            pending?.misnumbered = nil
            return answered(response, now)
        }
        pending = nil
        switch own.purpose {
        case .keepAlive:
            // While packets arrive, a missing response is tolerated.
            if probe == .sent {
                end(.silent(foreignTypes ?? "it sends nothing, and does not answer"))
            }
        case .teardown: end(.stopped)
        case .options, .describe, .setUp, .play:
            let seconds = Self.answerNanoseconds / 1_000_000_000
            end(.silent("it does not answer \(own.request.method.rawValue) within \(seconds) s"))
        }
    }

    // MARK: Responses

    private mutating func answered(_ response: RTSPResponse, _ now: Int64) {
        guard let own = pending, response.status >= 200 else { return }
        guard isUnnumbered || response.sequence == nil || response.sequence == own.sequence else {
            return noteMisnumbered(response, own, now)
        }
        if response.status == 401 { return authenticate(own, response, now) }
        pending = nil
        let isGood = (200..<300).contains(response.status)
        switch own.purpose {
        case .options:
            hasGetParameter =
                response.head.values("public").joined(separator: ",").uppercased()
                .contains("GET_PARAMETER")
            // Some cameras do not implement OPTIONS.
            describe(now)
        case .describe:
            guard isGood else { return refused(own, response) }
            described(response)
        case .setUp(let track):
            guard isGood else { return refused(track, own, response, now) }
            setUp(track, response, now)
        case .play(let place):
            // Some cameras require PLAY for each track (RFC 2326 §10.5).
            let isAggregateRefused = response.status == 459 && place == receiving.count
            guard isGood || isAggregateRefused else { return refused(own, response) }
            let next = isAggregateRefused ? 0 : place + 1
            if next < receiving.count {
                return ask(playRequest(receiving[next].uri), .play(next), now)
            }
            begin(now)
        case .keepAlive:
            if response.status == 454 { return end(.closed("its session has expired")) }
            keptAlive(isGood: isGood)
        case .teardown: end(.stopped)
        }
    }

    /// A response has another number than the request. Some cameras give all responses the same one.
    private mutating func noteMisnumbered(
        _ response: RTSPResponse, _ own: Pending, _ now: Int64
    ) {
        switch own.purpose {
        case .describe where response.status < 300 && !response.body.isEmpty:
            // No other request has a response with a description.
            isUnnumbered = true
            answered(response, now)
        case .options, .describe, .setUp, .play:
            // This response is used if no other one arrives in time.
            if own.misnumbered == nil { pending?.misnumbered = response }
        case .keepAlive, .teardown: break
        }
    }

    private mutating func keptAlive(isGood: Bool) {
        if !isGood { hasGetParameter = false }
        if probe == .sent { probe = .answered }
    }

    private mutating func describe(_ now: Int64) {
        var request = RTSPRequest(.describe, url.text)
        request.headers = [("Accept", "application/sdp")]
        ask(request, .describe, now)
    }

    /// The camera refuses a track.
    private mutating func refused(
        _ track: Int, _ own: Pending, _ response: RTSPResponse, _ now: Int64
    ) {
        let kind = tracks[track].kind
        let wanted = queue.map(\.track) + receiving.map(\.wanted.track)
        guard kind == .audio, wanted.contains(where: { tracks[$0].kind == .video }),
            !Self.redirections.contains(response.status)
        else { return refused(own, response, of: kind) }
        queue.removeFirst()
        outputs.append(
            .refused(
                track: track,
                "its \(kind) is refused: it answers SETUP with \(response.summary)"))
        setUpNext(now)
    }

    /// - Parameter kind: of the track that the request is about.
    private mutating func refused(
        _ own: Pending, _ response: RTSPResponse, of kind: TrackKind? = nil
    ) {
        if Self.redirections.contains(response.status),
            let location = response.head.value("location")
        {
            do throws(RTSPError) {
                return end(.redirected(try url.redirected(to: location)))
            } catch {
                return end(.broken("\(error)"))
            }
        }
        let method = own.request.method
        // A track that is set up shows that the camera supports the transport.
        let remedy =
            receiving.isEmpty ? SessionEnd.remedy(method, response.status, transport) : nil
        end(
            .refused(
                request: kind.map { "\(method.rawValue) of its \($0)" } ?? method.rawValue,
                status: response.status, summary: response.summary + (remedy ?? "")))
    }

    private mutating func authenticate(
        _ own: Pending, _ response: RTSPResponse, _ now: Int64
    ) {
        if own.purpose == .keepAlive,
            login == nil
                || own.refusals > 0 && (own.refusals >= Self.mostRefusals || !isStale(response))
        {
            // The stream continues: some cameras authenticate only the requests that set it up.
            pending = nil
            return keptAlive(isGood: false)
        }
        guard let login else {
            return end(
                .unauthorised(
                    "it wants a login: put USER:PASSWORD into a file and use --camera-login FILE"))
        }
        guard own.refusals < Self.mostRefusals,
            own.refusals == 0 || isStale(response)
        else { return end(.unauthorised("it does not accept the login of --camera-login")) }
        let offers = AuthenticationChallenge.offers(in: response.head.values("www-authenticate"))
        guard
            let authenticator = DigestAuthenticator(
                offers, login: login, clientNonce: String(nextRandom(), radix: 16))
        else {
            return end(.unauthorised(DigestAuthenticator.refusal(offers)))
        }
        self.authenticator = authenticator
        pending?.refusals += 1
        pending?.deadline = now.clampedAdding(Self.answerNanoseconds)
        send()
    }

    private func isStale(_ response: RTSPResponse) -> Bool {
        AuthenticationChallenge.offers(in: response.head.values("www-authenticate"))
            .contains { $0.parameters["stale"]?.lowercased() == "true" }
    }

    private mutating func nextRandom() -> UInt64 {
        // SplitMix64, seeded with unpredictable numbers.
        random &+= 0x9E37_79B9_7F4A_7C15
        var value = random
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    private mutating func described(_ response: RTSPResponse) {
        base = response.head.value("content-base") ?? response.head.value("content-location")
        let description: SessionDescription
        do throws(RTSPError) {
            description = try SessionDescription(parsing: response.body)
        } catch {
            return end(.broken("\(error)"))
        }
        aggregate = url.resolve(control: description.control, base: base)
        var refused: [String] = []
        for media in description.recordable {
            do throws(RTSPError) {
                tracks.append(try CameraTrackDescription(media))
            } catch {
                if media.kind == "video" || media.kind == "audio" { refused.append("\(error)") }
            }
        }
        phase = .waiting
        outputs.append(.described(tracks, refused: refused))
    }

    private mutating func setUp(_ track: Int, _ response: RTSPResponse, _ now: Int64) {
        if let text = response.head.value("session") {
            let parts = text.split(separator: ";", omittingEmptySubsequences: false)
            let id = parts.first.map { String($0).trimmed } ?? ""
            // It is repeated in every request.
            guard !id.isEmpty, id.utf8.count <= Self.longestSessionBytes,
                id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else { return end(.broken("the camera's session has no name that can be repeated")) }
            sessionID = id
            for part in parts.dropFirst() {
                let pair = part.split(separator: "=")
                if pair.count == 2, String(pair[0]).trimmed.lowercased() == "timeout",
                    let seconds = Int64(String(pair[1]).trimmed), (1...86_400).contains(seconds)
                {
                    keepAliveNanoseconds = seconds * 500_000_000
                }
            }
        }
        let wanted = queue.removeFirst()
        let header = TransportHeader(parsing: response.head.value("transport") ?? "")
        let channel = UInt8(clamping: receiving.count * 2)
        guard transport == .tcp || header.serverPorts != nil || header.interleaved == nil else {
            return end(
                .broken(
                    "the camera sends over TCP although UDP was asked for: use --camera-transport tcp"
                ))
        }
        guard transport == .udp || header.interleaved != nil || header.serverPorts == nil else {
            return end(
                .broken(
                    "the camera sends over UDP although TCP was asked for: use --camera-transport udp"
                ))
        }
        let own = TrackChannels(
            header.interleaved, asked: (channel, channel + 1),
            payloadType: tracks[track].payloadType)
        if transport == .tcp, let flaw = own.flaw(among: channels) {
            return end(.broken(flaw))
        }
        channels.append(own)
        if transport == .tcp {
            reader.channels.formUnion([own.rtp, own.rtcp, channel, channel + 1])
        }
        receiving.append(
            Receiving(
                wanted: wanted, uri: url.resolve(control: tracks[track].control, base: base),
                receiver: TrackReceiver(
                    tracks[track],
                    waitNanoseconds: transport == .tcp ? 0 : Self.reorderNanoseconds),
                serverPorts: header.serverPorts, heard: now))
        setUpNext(now)
    }

    private mutating func begin(_ now: Int64) {
        phase = .playing
        for place in receiving.indices { receiving[place].heard = now }
        keepAliveAt = now.clampedAdding(keepAliveNanoseconds)
        outputs.append(.playing)
        sendReports(now)
    }

    // MARK: Packets

    private mutating func take(_ bytes: [UInt8], channel: UInt8, _ now: Int64) {
        guard phase != .stopping else { return }
        // Channels that were not set up are ignored.
        let found = TrackChannels.destination(
            of: bytes, channel: channel, among: channels
        ) { receiving[$0].receiver.source }
        guard let (place, isControl) = found else { return }
        if isControl {
            takeControl(bytes, place, now)
        } else {
            takeMedia(bytes, place, now)
        }
    }

    private mutating func takeMedia(_ bytes: [UInt8], _ place: Int, _ now: Int64) {
        guard let items = receiving[place].receiver.receive(bytes, arrivalNanoseconds: now) else {
            return
        }
        // Packets of another payload type count as silence.
        if receiving[place].receiver.foreignType == nil {
            receiving[place].heard = now
            receiving[place].isForeignTold = false
            probe = .none
        } else {
            tellForeign(place, now)
        }
        give(items, place)
    }

    private mutating func tellForeign(_ place: Int, _ now: Int64) {
        let own = receiving[place]
        guard !own.isForeignTold,
            now.clampedSubtracting(own.heard) >= Self.silenceNanoseconds,
            let reason = own.receiver.foreignReason
        else { return }
        receiving[place].isForeignTold = true
        outputs.append(.foreign(track: own.wanted.track, reason))
    }

    private mutating func takeControl(_ bytes: [UInt8], _ place: Int, _ now: Int64) {
        let track = receiving[place].wanted.track
        for report in receiving[place].receiver.receiveControl(bytes, arrivalNanoseconds: now) {
            outputs.append(.report(track: track, report, arrivalNanoseconds: now))
        }
    }

    private mutating func give(_ items: [DepacketizedItem], _ place: Int) {
        if !items.isEmpty {
            outputs.append(.items(track: receiving[place].wanted.track, items))
        }
    }

    private mutating func sendReports(_ now: Int64) {
        reportAt = now.clampedAdding(Self.reportNanoseconds)
        for place in receiving.indices {
            let report = receiving[place].receiver.report(
                from: reporter, name: String(reporter, radix: 16), now: now)
            let own = receiving[place]
            switch transport {
            case .tcp:
                let size = UInt16(clamping: report.count)
                outputs.append(
                    .send(
                        [
                            UInt8(ascii: "$"), channels[place].rtcp, UInt8(size >> 8),
                            UInt8(size & 0xFF),
                        ]
                            + report))
            case .udp:
                guard let ports = own.serverPorts else { continue }
                outputs.append(
                    .sendDatagram(
                        track: own.wanted.track, port: ports.rtcp, isControl: true, report))
            }
        }
    }

    // MARK: Silence

    /// The tracks without which the session is useless: video if there is any.
    private var decisive: [Receiving] {
        let pictures = receiving.filter { $0.receiver.description.kind == .video }
        return pictures.isEmpty ? receiving : pictures
    }

    /// Arrival of the last packet of a decisive track.
    private var heard: Int64 { decisive.map(\.heard).max() ?? .max }

    /// The reason of the silence if the camera sends another payload type than it describes; nil if not.
    private var foreignTypes: String? {
        decisive.lazy.compactMap { $0.receiver.foreignReason }.first.map { "it \($0)" }
    }

    private var nextSilence: Int64 {
        probe == .none && pending == nil
            ? Self.silenceNanoseconds : Self.longestSilenceNanoseconds
    }

    private mutating func watchSilence(_ now: Int64) {
        let silence = now.clampedSubtracting(heard)
        if silence >= Self.longestSilenceNanoseconds {
            let firewall =
                transport == .udp && decisive.allSatisfy { $0.receiver.source == nil }
                ? ": if a firewall drops its datagrams, use --camera-transport tcp" : ""
            return end(
                .silent(
                    foreignTypes
                        ?? "it has sent nothing for \(silence / 1_000_000_000) s\(firewall)"))
        }
        guard silence >= Self.silenceNanoseconds, probe == .none, pending == nil else { return }
        keepAlive(now)
        probe = .sent
    }

    private mutating func end(_ reason: SessionEnd) {
        guard phase != .ended else { return }
        finishReceivers()
        phase = .ended
        pending = nil
        outputs.append(.ended(reason))
    }

    private mutating func finishReceivers() {
        for place in receiving.indices { give(receiving[place].receiver.finish(), place) }
    }
}
