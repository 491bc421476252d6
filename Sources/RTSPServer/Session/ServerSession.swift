import RTSP

/// State machine of one client's connection: requests in, actions out. It has no socket; times are the caller's monotonic clock,
/// nanoseconds.
///
/// A connection has one RTSP session. A request that needs the caller (access, lookup, start of playback) is pending until
/// the caller replies; later requests wait.
package struct ServerSession: Sendable {
    /// Actions for the caller, in order.
    package enum Action: Hashable, Sendable {
        case send([UInt8])
        /// The caller replies with ``ServerSession/resolved(_:now:)``.
        case resolve(Lookup)
        /// The caller replies with ``ServerSession/began(_:now:)``, and sends media after that.
        case play(PlayRange, tracks: [Int: ClientTransport])
        case pause
        /// Ends the session, but not the connection.
        case tearDown
        /// Closes the connection after pending writes.
        case close(reason: String)
    }

    /// A requested resource and its credentials.
    package struct Lookup: Hashable, Sendable {
        package let resource: ServedAddress.Resource
        package let credentials: ClientCredentials?
    }

    /// Result of a ``Lookup``.
    package enum Resolution: Hashable, Sendable {
        /// - Parameter sources: SSRC of each track's packets.
        case granted(ServedPresentation, sources: [UInt32])
        case refused(ServerStatus)
    }

    /// Start of playback.
    package struct Beginning: Hashable, Sendable {
        package struct Track: Hashable, Sendable {
            /// Sequence number of the first packet.
            package var sequence: UInt16
            /// RTP timestamp of the start.
            package var timestamp: UInt32

            package init(sequence: UInt16, timestamp: UInt32) {
                self.sequence = sequence
                self.timestamp = timestamp
            }
        }

        /// Normal play time, nanoseconds; nil: live.
        package var startNanoseconds: Int64?
        /// Normal play time at which playback stops; nil: at the end of the recording, or live.
        package var endNanoseconds: Int64?
        /// By track index; tracks without a packet yet are missing.
        package var tracks: [Int: Track]

        package init(
            startNanoseconds: Int64?, endNanoseconds: Int64? = nil, tracks: [Int: Track]
        ) {
            self.startNanoseconds = startNanoseconds
            self.endNanoseconds = endNanoseconds
            self.tracks = tracks
        }
    }

    /// A client that sends nothing for this long is disconnected, unless it is receiving packets on the connection.
    package static let timeoutSeconds: Int64 = 60
    /// Time limit for the first granted request.
    private static let greetingNanoseconds: Int64 = 15_000_000_000
    /// Refused log-ins until the connection is closed. Clients try once without and once with a password.
    private static let maximumRefusals = 5
    private static let second: Int64 = 1_000_000_000

    private struct Granted {
        let presentation: ServedPresentation
        let sources: [UInt32]
        /// Base URL of the request that was granted.
        let base: String
    }

    private enum Phase {
        /// No request is pending.
        case ready
        case resolving(ClientRequest, ServedAddress, Lookup)
        case beginning(ClientRequest)
        case closed
    }

    private enum Playing {
        case not
        case paused
        case now
    }

    private let identifier: String
    private let ports: ServerPorts?
    private var reader = ClientReader()
    private var budget = RequestBudget()
    private var phase = Phase.ready
    private var granted: Granted?
    /// The last granted request. TEARDOWN keeps it.
    private var grantedLookup: Lookup?
    private var transports: [Int: ClientTransport] = [:]
    private var playing = Playing.not
    private var refusals = 0
    private let opened: Int64
    private var lastHeard: Int64
    private var actions: [Action] = []

    /// - Parameters:
    ///   - identifier: of the session: at least eight unpredictable characters (RFC 2326 §3.4).
    ///   - ports: UDP ports; nil if UDP is not offered.
    package init(identifier: String, ports: ServerPorts?, now: Int64) {
        self.identifier = identifier
        self.ports = ports
        opened = now
        lastHeard = now
    }

    /// A request is pending: the caller should stop reading from the connection.
    package var isWaiting: Bool {
        switch phase {
        case .resolving, .beginning: true
        case .ready, .closed: false
        }
    }

    package var isPlaying: Bool { playing == .now }

    // MARK: Inputs

    /// Processes bytes of the connection.
    package mutating func receive(_ bytes: some Collection<UInt8>, now: Int64) -> [Action] {
        if case .closed = phase { return [] }
        lastHeard = now
        do throws(RTSPServerError) {
            try budget.take(bytes: bytes.count, now: now)
            try reader.add(bytes)
        } catch {
            return close("\(error)")
        }
        return proceed(now)
    }

    /// A receiver report arrived by UDP.
    package mutating func heard(now: Int64) { lastHeard = now }

    package mutating func resolved(_ resolution: Resolution, now: Int64) -> [Action] {
        guard case .resolving(let request, let address, let lookup) = phase else { return [] }
        phase = .ready
        switch resolution {
        case .refused(let status):
            refuse(request, status)
        case .granted(let presentation, let sources):
            grantedLookup = lookup
            granted = Granted(
                presentation: presentation, sources: sources, base: address.base)
            answerGranted(request, address)
        }
        return proceed(now)
    }

    package mutating func began(_ beginning: Beginning, now: Int64) -> [Action] {
        guard case .beginning(let request) = phase, let granted else { return [] }
        phase = .ready
        playing = .now
        var headers = [("Session", identifier)]
        if let start = beginning.startNanoseconds {
            let end = beginning.endNanoseconds.map { PlayRange.text($0) } ?? ""
            headers.append(("Range", "npt=\(PlayRange.text(start))-\(end)"))
        } else {
            headers.append(("Range", "npt=now-"))
        }
        let info = transports.keys.sorted().compactMap { track -> String? in
            guard let first = beginning.tracks[track] else { return nil }
            return
                "url=\(granted.base)trackID=\(track);seq=\(first.sequence);rtptime=\(first.timestamp)"
        }
        if !info.isEmpty { headers.append(("RTP-Info", info.joined(separator: ","))) }
        answer(request, .ok, headers)
        return proceed(now)
    }

    /// The caller could not start playback. An earlier one continues.
    package mutating func failed(_ status: ServerStatus, now: Int64) -> [Action] {
        guard case .beginning(let request) = phase else { return [] }
        phase = .ready
        answer(request, status)
        return proceed(now)
    }

    /// Playback has reached its end.
    package mutating func finished() {
        if playing == .now { playing = .paused }
    }

    /// Checks timeouts; called once a second.
    /// - Parameter takesPackets: the client has received packets on the connection since the last call.
    package mutating func tick(takesPackets: Bool, now: Int64) -> [Action] {
        if takesPackets { lastHeard = now }
        switch phase {
        case .closed: return []
        case .resolving, .beginning: return []
        case .ready: break
        }
        if grantedLookup == nil, now - opened > Self.greetingNanoseconds {
            return close("nothing granted within \(Self.greetingNanoseconds / Self.second) s")
        }
        if now - lastHeard > Self.timeoutSeconds * Self.second {
            return close("nothing heard for \(Self.timeoutSeconds) s")
        }
        return []
    }

    // MARK: Requests

    private mutating func proceed(_ now: Int64) -> [Action] {
        do throws(RTSPServerError) {
            while case .ready = phase {
                guard let item = try reader.next() else { break }
                switch item {
                case .packet: continue
                case .request(let request):
                    try budget.takeRequest()
                    take(request)
                }
            }
        } catch {
            return close("\(error)")
        }
        defer { actions = [] }
        return actions
    }

    /// Responds with 400, and closes the connection.
    private mutating func close(_ reason: String) -> [Action] {
        defer { actions = [] }
        if case .closed = phase { return [] }
        phase = .closed
        actions.append(.send(Array("RTSP/1.0 400 Bad Request\r\nConnection: close\r\n\r\n".utf8)))
        actions.append(.close(reason: reason))
        return actions
    }

    private mutating func take(_ request: ClientRequest) {
        if let required = request.head.value("require") {
            // An option that the client requires (RFC 2326 §12.32); none is supported.
            let named = String(
                decoding: required.utf8.prefix(80).filter { $0 >= 0x20 && $0 < 0x7F },
                as: UTF8.self)
            return answer(
                request, .optionNotSupported, [("Unsupported", named)])
        }
        switch request.method {
        case .options:
            answer(
                request, .ok,
                [("Public", "OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, TEARDOWN, GET_PARAMETER")])
        case .describe: resolve(request)
        case .setUp:
            // Transports cannot be changed while playing (§A.1).
            guard playing != .now else { return answer(request, .notValidInThisState) }
            resolve(request)
        case .play:
            guard isOfSession(request) else { return }
            guard !transports.isEmpty else { return answer(request, .notValidInThisState) }
            guard let range = PlayRange(request.head.value("range")) else {
                return answer(request, .invalidRange)
            }
            if range == .unspecified, playing == .now {
                // A test of whether the server is alive (§10.5).
                return answer(request, .ok, [("Session", identifier)])
            }
            phase = .beginning(request)
            actions.append(.play(range, tracks: transports))
        case .pause:
            guard isOfSession(request) else { return }
            guard playing != .not else { return answer(request, .notValidInThisState) }
            if playing == .now { actions.append(.pause) }
            playing = .paused
            answer(request, .ok, [("Session", identifier)])
        case .tearDown:
            guard isOfSession(request) else { return }
            transports = [:]
            granted = nil
            playing = .not
            actions.append(.tearDown)
            answer(request, .ok)
        case .getParameter:
            // Clients use it as a keep-alive; there are no parameters (§10.8).
            let isOpen = !transports.isEmpty
            answer(request, .ok, isOpen ? [("Session", identifier)] : [])
        case .setParameter, .announce, .record, .redirect:
            answer(request, .methodNotAllowed)
        case nil: answer(request, .notImplemented)
        }
    }

    /// Whether a request has this connection's session identifier; if not, responds with an error.
    private mutating func isOfSession(_ request: ClientRequest) -> Bool {
        let named = request.head.value("session")?.prefix { $0 != ";" }
        guard !transports.isEmpty, let named, named == identifier else {
            answer(request, .sessionNotFound)
            return false
        }
        if let address = ServedAddress(parsing: request.uri), address.track != nil,
            transports.count > 1
        {
            answer(request, .onlyAggregateAllowed)
            return false
        }
        return true
    }

    private mutating func resolve(_ request: ClientRequest) {
        guard let address = ServedAddress(parsing: request.uri) else {
            return answer(request, .notFound)
        }
        let lookup = lookup(of: request, address)
        if request.method == .setUp, granted != nil, grantedLookup?.resource == lookup.resource {
            return answerGranted(request, address)
        }
        // A session has one presentation.
        guard transports.isEmpty else { return answer(request, .aggregateNotAllowed) }
        phase = .resolving(request, address, lookup)
        actions.append(.resolve(lookup))
    }

    /// The resource and credentials of a request.
    ///
    /// Players append the track to Content-Base, which has no query: a token would be in their logs. So a SETUP of the
    /// granted path has the granted start and credentials, unless it states others.
    private func lookup(of request: ClientRequest, _ address: ServedAddress) -> Lookup {
        let own = Lookup(
            resource: address.resource, credentials: ClientCredentials(request, address))
        guard request.method == .setUp, let grantedLookup else { return own }
        let resource = own.resource.completed(by: grantedLookup.resource)
        guard resource == grantedLookup.resource else { return own }
        return Lookup(
            resource: resource, credentials: own.credentials ?? grantedLookup.credentials)
    }

    private mutating func refuse(_ request: ClientRequest, _ status: ServerStatus) {
        guard status == .unauthorized else { return answer(request, status) }
        refusals += 1
        answer(
            request, .unauthorized, [("WWW-Authenticate", "Basic realm=\"tributary\"")])
        guard refusals >= Self.maximumRefusals else { return }
        phase = .closed
        actions.append(.close(reason: "\(refusals) log-ins were refused"))
    }

    private mutating func answerGranted(_ request: ClientRequest, _ address: ServedAddress) {
        guard let granted else { return }
        guard request.method == .setUp else {
            return answer(
                request, .ok,
                [("Content-Base", granted.base), ("Content-Type", "application/sdp")],
                body: Array(granted.presentation.description.utf8))
        }
        // SETUP with the presentation's URL is accepted if it has one track.
        let tracks = granted.presentation.tracks
        guard let track = address.track ?? (tracks.count == 1 ? 0 : nil) else {
            return answer(request, .aggregateNotAllowed)
        }
        guard tracks.indices.contains(track) else { return answer(request, .notFound) }
        if let named = request.head.value("session")?.prefix(while: { $0 != ";" }),
            named != identifier
        {
            return answer(request, .sessionNotFound)
        }
        guard
            let transport = ClientTransport(
                parsing: request.head.value("transport") ?? "", track: track,
                allowsDatagrams: ports != nil),
            transports.allSatisfy({ $0.key == track || !$0.value.overlaps(transport) })
        else { return answer(request, .unsupportedTransport) }
        // A session uses either TCP or UDP. A client that changes from one to the other sets up one track after the other.
        transports = transports.filter { $0.value.isInterleaved == transport.isInterleaved }
        transports[track] = transport
        answer(
            request, .ok,
            [
                ("Transport", transport.header(source: granted.sources[track], ports: ports)),
                ("Session", "\(identifier);timeout=\(Self.timeoutSeconds)"),
            ])
    }

    private mutating func answer(
        _ request: ClientRequest, _ status: ServerStatus, _ headers: [(String, String)] = [],
        body: [UInt8] = []
    ) {
        var text = "RTSP/1.0 \(status.rawValue) \(status.reason)\r\nCSeq: \(request.sequence)\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if !body.isEmpty { text += "Content-Length: \(body.count)\r\n" }
        actions.append(.send(Array("\(text)\r\n".utf8) + body))
    }
}

extension ClientTransport {
    /// Whether it uses the control connection.
    fileprivate var isInterleaved: Bool {
        switch self {
        case .interleaved: true
        case .datagrams: false
        }
    }

    /// Whether two tracks would share channels or ports.
    fileprivate func overlaps(_ other: ClientTransport) -> Bool {
        switch (self, other) {
        case (.interleaved(let rtp, let rtcp), .interleaved(let otherRTP, let otherRTCP)):
            !Set([rtp, rtcp]).isDisjoint(with: [otherRTP, otherRTCP])
        case (.datagrams(let rtp, let rtcp), .datagrams(let otherRTP, let otherRTCP)):
            !Set([rtp, rtcp]).isDisjoint(with: [otherRTP, otherRTCP])
        case (.interleaved, .datagrams), (.datagrams, .interleaved): false
        }
    }
}
