import Glibc
package import Media
package import RTSP

/// How a network camera is to be reached.
package struct NetworkCameraRequest: Hashable, Sendable {
    package var url: RTSPURL
    package var login: CameraLogin?
    package var transport: CameraSession.Transport
    /// For `rtsps://`.
    package var trust: CameraTrust
    /// The wanted tracks, video first.
    package var kinds: [TrackKind]
    /// `User-Agent`.
    package var agent: String

    package init(
        url: RTSPURL, login: CameraLogin?, transport: CameraSession.Transport,
        trust: CameraTrust = CameraTrust(), kinds: [TrackKind], agent: String
    ) {
        self.url = url
        self.login = login
        self.transport = transport
        self.trust = trust
        self.kinds = kinds
        self.agent = agent
    }
}

/// An event of a network camera.
package enum NetworkCameraEvent: Hashable, Sendable {
    case items(TrackKind, [DepacketizedItem])
    case report(TrackKind, SenderReport, arrivalNanoseconds: Int64)
    /// The track has other packets than the camera describes; the rest of a sentence about the camera.
    case foreign(TrackKind, String)
}

/// A network camera connected by RTSP: its sockets and its session. Used on one thread.
package final class NetworkCamera {
    /// Timeout of a connection attempt.
    private static let connectNanoseconds: Int64 = 5_000_000_000
    /// Limit of redirections, in case they form a circle.
    private static let mostRedirections = 5
    private static let bufferBytes = 262_144
    /// Receive buffer of datagrams: more than a keyframe of 4K.
    private static let datagramBufferBytes: Int32 = 4 << 20
    /// Ports that are tried, until two in a row are free.
    private static let mostPorts = 64
    private static let sliceMilliseconds: Int32 = 100
    /// Timeout of the response to TEARDOWN.
    private static let leaveNanoseconds: Int64 = 500_000_000
    /// Reads of what arrived before a stop: more than the receive buffers hold.
    private static let mostLastReads = 64
    /// Limit of unsent bytes, a few requests and reports: a camera that stops reading is disconnected.
    private static let mostUnsentBytes = 1 << 20

    /// The received tracks, in the order of ``NetworkCameraRequest/kinds``.
    package private(set) var tracks: [CameraTrackDescription] = []
    /// Other tracks, and why they are not received: one line each.
    package private(set) var refused: [String] = []
    /// Description of the camera, for messages.
    package let summary: String
    /// The camera has accepted to send packets.
    package private(set) var isPlaying = false

    private var session: CameraSession
    private let address: NetworkAddress
    private let control: NetworkSocket
    /// Nil: the connection is not encrypted.
    private let tls: TLSConnection?
    /// Why the camera is not trusted.
    private var distrust: String?
    private var datagrams: [Datagrams] = []
    private var places: [Int: TrackKind] = [:]
    private var unsent: [UInt8] = []
    private var events: [NetworkCameraEvent] = []
    private var end: SessionEnd?
    private var described: [CameraTrackDescription]?
    private var isReady = false
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: bufferBytes, alignment: 16)

    /// The two sockets of a track.
    private final class Datagrams {
        let track: Int
        let port: UInt16
        let media: NetworkSocket
        let control: NetworkSocket

        init(
            track: Int, port: UInt16, media: consuming NetworkSocket,
            control: consuming NetworkSocket
        ) {
            self.track = track
            self.port = port
            self.media = media
            self.control = control
        }
    }

    deinit {
        if end == nil {
            // Some cameras keep a session that was not torn down.
            session.stop(now: SystemClock.monotonic.nowNanoseconds)
            carryOut()
        }
        buffer.deallocate()
    }

    /// Connects, follows redirects, and sets up the wanted tracks; ``play()`` is next.
    ///
    /// Blocks; `isWanted` is called ten times a second.
    /// - Returns: nil if it became false.
    package static func open(
        _ request: NetworkCameraRequest, while isWanted: () -> Bool
    ) throws(DeviceError) -> NetworkCamera? {
        var request = request
        let host = request.url.host
        for _ in 0...mostRedirections {
            let camera: NetworkCamera?
            do throws(NetworkFailure) {
                camera = try connect(request, isWanted)
            } catch {
                throw .cameraLost(request.url.summary, reason: error.reason)
            }
            guard let camera else { return nil }
            guard case .redirected(let url) = try camera.setUp(request.kinds, isWanted) else {
                return camera.isReady ? camera : nil
            }
            // A login is for the host that it was given for.
            if url.host != host { request.login = nil }
            guard url.isSecure || !request.url.isSecure else {
                throw .cameraRefused(
                    request.url.summary,
                    reason: "it redirects to a connection that is not encrypted")
            }
            request.url = url
        }
        throw .cameraRefused(
            request.url.summary, reason: "it redirects more than \(mostRedirections) times")
    }

    private static func connect(
        _ request: NetworkCameraRequest, _ isWanted: () -> Bool
    ) throws(NetworkFailure) -> NetworkCamera? {
        guard
            let addresses = try NetworkAddress.find(
                request.url.host, port: request.url.port, while: isWanted),
            let connection = try NetworkSocket.connected(
                to: addresses, withinNanoseconds: connectNanoseconds, while: isWanted)
        else { return nil }
        let tls =
            request.url.isSecure
            ? try TLSConnection(host: request.url.host, trust: request.trust) : nil
        return NetworkCamera(request, connection, tls)
    }

    private init(
        _ request: NetworkCameraRequest, _ connection: consuming NetworkSocket.Connection,
        _ tls: TLSConnection?
    ) {
        summary = request.url.summary
        address = connection.address
        control = connection.socket
        self.tls = tls
        transport = request.transport
        session = CameraSession(
            url: request.url, login: request.login, transport: request.transport,
            agent: request.agent,
            random: .random(in: 0 ... .max))
    }

    private let transport: CameraSession.Transport

    /// Requests the description, and sets up the wanted tracks.
    private func setUp(
        _ kinds: [TrackKind], _ isWanted: () -> Bool
    ) throws(DeviceError) -> SessionEnd? {
        session.start(now: now)
        while described == nil, end == nil, isWanted() { turn(Self.sliceMilliseconds) }
        if let described, end == nil {
            var wanted: [CameraSession.Wanted] = []
            for kind in kinds {
                guard let track = described.preferredTrack(of: kind) else { continue }
                var port: UInt16?
                if transport == .udp {
                    let own = try bindDatagrams(track)
                    port = own.port
                    datagrams.append(own)
                }
                tracks.append(described[track])
                places[track] = kind
                wanted.append(.init(track: track, port: port))
            }
            guard !wanted.isEmpty else {
                session.stop(now: now)
                let names = kinds.map(\.description).joined(separator: " or ")
                throw lacking(names)
            }
            let pictures = described.count { $0.kind == .video }
            if kinds.contains(.video), pictures > 1 {
                refused.append(
                    "it has \(pictures) video tracks that can be recorded: only the first one is")
            }
            session.setUp(wanted, now: now)
            while !isReady, end == nil, isWanted() { turn(Self.sliceMilliseconds) }
        }
        if let distrust { throw .cameraRefused(summary, reason: distrust) }
        if let tls, !tls.isEstablished, case .silent = end {
            throw .cameraLost(
                summary, reason: "it does not answer the TLS handshake: is it rtsp://?")
        }
        switch end {
        case nil: return nil
        case .redirected(let url): return .redirected(url)
        case .unauthorised(let reason): throw .cameraLoginRefused(summary, reason: reason)
        case .some(let end): throw .cameraLost(summary, reason: end.description)
        }
    }

    /// The camera has no track of a wanted kind.
    package func lacking(_ names: String) -> DeviceError {
        var parts = ["it has no \(names) that can be recorded"]
        if !refused.isEmpty { parts.append(refused.joined(separator: "; ")) }
        if described?.preferredTrack(of: .video) == nil,
            described?.preferredTrack(of: .audio) != nil
        {
            parts.append("to record its audio alone, use --video none --audio \(summary)")
        }
        return .cameraRefused(summary, reason: parts.joined(separator: ": "))
    }

    /// Two ports in a row, the first of them even (RFC 3550 §11).
    private func bindDatagrams(_ track: Int) throws(DeviceError) -> Datagrams {
        do throws(NetworkFailure) {
            for _ in 0..<Self.mostPorts {
                let port = UInt16.random(in: 16_384..<32_000) * 2
                guard
                    let media = try NetworkSocket.datagrams(
                        address, port: port, bufferBytes: Self.datagramBufferBytes),
                    let control = try NetworkSocket.datagrams(
                        address, port: port + 1, bufferBytes: 65_536)
                else { continue }
                return Datagrams(track: track, port: port, media: media, control: control)
            }
            throw NetworkFailure("no two ports in a row are free for datagrams")
        } catch {
            throw .cameraRefused(summary, reason: error.reason)
        }
    }

    /// Has packets begin.
    package func play() {
        session.play(now: now)
        carryOut()
    }

    /// Waits for data of the camera, with a timeout.
    /// - Throws: if the session has ended, after all earlier events.
    package func read(timeoutMilliseconds: Int) throws(DeviceError) -> [NetworkCameraEvent] {
        if events.isEmpty, end == nil { turn(Int32(clamping: timeoutMilliseconds)) }
        defer { events = [] }
        if events.isEmpty, let end {
            if case .unauthorised(let reason) = end {
                throw .cameraLoginRefused(summary, reason: reason)
            }
            throw .cameraLost(summary, reason: end.description)
        }
        return events
    }

    /// Reads what has arrived, and asks the camera to end; ``leave()`` waits for the response.
    /// - Returns: all remaining events.
    package func stop() -> [NetworkCameraEvent] {
        for _ in 0..<Self.mostLastReads where end == nil {
            guard turn(0) else { break }
        }
        session.stop(now: now)
        carryOut()
        defer { events = [] }
        return events
    }

    /// Tears down the camera's session: some cameras allow only one connection. Blocks for a moment.
    package func leave() {
        guard end == nil else { return }
        session.stop(now: now)
        let limit = now + Self.leaveNanoseconds
        while end == nil, now < limit { turn(Self.sliceMilliseconds) }
    }

    // MARK: Sockets

    private var now: Int64 { SystemClock.monotonic.nowNanoseconds }

    /// Waits for something to happen, and has the session follow it.
    /// - Returns: whether data has arrived.
    @discardableResult
    private func turn(_ milliseconds: Int32) -> Bool {
        carryOut()
        let due = max(0, session.deadlineNanoseconds.clampedSubtracting(now)) / 1_000_000
        var set = [
            pollfd(
                fd: control.descriptor, events: Int16(unsent.isEmpty ? POLLIN : POLLIN | POLLOUT),
                revents: 0)
        ]
        for own in datagrams {
            set.append(pollfd(fd: own.media.descriptor, events: Int16(POLLIN), revents: 0))
            set.append(pollfd(fd: own.control.descriptor, events: Int16(POLLIN), revents: 0))
        }
        // Rounded up: a deadline that is not reached yet would be waited for in circles.
        poll(&set, nfds_t(set.count), min(milliseconds, Int32(clamping: due + 1)))
        // Datagrams first: they arrived before the end of the connection.
        for (index, own) in datagrams.enumerated() {
            if set[1 + 2 * index].revents != 0 { readDatagrams(own, isControl: false) }
            if set[2 + 2 * index].revents != 0 { readDatagrams(own, isControl: true) }
        }
        if set[0].revents != 0 {
            flush()
            readControl()
        }
        session.tick(now: now)
        carryOut()
        return set.contains { $0.revents & Int16(POLLIN) != 0 }
    }

    private func readControl() {
        switch control.receive(into: buffer) {
        case .received(let received):
            guard let tls else {
                return session.received(
                    received.bytes, arrivalNanoseconds: received.arrivalNanoseconds)
            }
            encrypted(tls) { () throws(NetworkFailure) in
                let plain = try tls.received(received.bytes)
                if !plain.isEmpty {
                    session.received(plain, arrivalNanoseconds: received.arrivalNanoseconds)
                }
            }
            if tls.isClosed { session.disconnected("it has closed the connection") }
        case .nothing: break
        case .closed: session.disconnected("it has closed the connection")
        case .failed(let number):
            session.disconnected(NetworkFailure("the connection failed", errno: number).reason)
        }
    }

    /// Exchanges bytes with the encrypted connection; a failure ends it.
    private func encrypted(
        _ tls: TLSConnection, _ body: () throws(NetworkFailure) -> Void
    ) {
        do throws(NetworkFailure) {
            try body()
        } catch {
            if !tls.isEstablished { distrust = error.reason }
            session.disconnected(error.reason)
        }
        unsent += tls.takeOutgoing()
    }

    private func readDatagrams(_ own: Datagrams, isControl: Bool) {
        // A limit, so that other sockets are read, too.
        for _ in 0..<256 {
            let reading =
                isControl ? own.control.receive(into: buffer) : own.media.receive(into: buffer)
            guard case .received(let received) = reading else { return }
            // Datagrams of other hosts are ignored.
            guard address.isSameHost(as: received.from) else { continue }
            session.receivedDatagram(
                received.bytes, track: own.track, isControl: isControl,
                arrivalNanoseconds: received.arrivalNanoseconds)
        }
    }

    private func flush() {
        while !unsent.isEmpty {
            switch control.send(unsent[...]) {
            case .success(0): return
            case .success(let count): unsent.removeFirst(count)
            case .failure(let failure):
                unsent = []
                session.disconnected(failure.reason)
            }
        }
    }

    private func carryOut() {
        var outputs = session.takeOutputs()
        while !outputs.isEmpty {
            for output in outputs { carryOut(output) }
            flush()
            outputs = session.takeOutputs()
        }
    }

    private func carryOut(_ output: CameraSession.Output) {
        switch output {
        case .send(let bytes):
            if let tls {
                encrypted(tls) { () throws(NetworkFailure) in try tls.send(bytes) }
            } else {
                unsent += bytes
            }
            if unsent.count > Self.mostUnsentBytes {
                session.disconnected("it reads nothing of what is sent to it")
            }
        case .sendDatagram(let track, let port, let isControl, let bytes):
            guard let own = datagrams.first(where: { $0.track == track }) else { return }
            if isControl {
                own.control.send(bytes, to: address.at(port: port))
            } else {
                own.media.send(bytes, to: address.at(port: port))
            }
        case .described(let tracks, let refused):
            described = tracks
            self.refused = refused
        case .refused(let track, let reason):
            refused.append(reason)
            if let kind = places.removeValue(forKey: track) {
                tracks.removeAll { $0.kind == kind }
            }
            datagrams.removeAll { $0.track == track }
        case .ready: isReady = true
        case .playing: isPlaying = true
        case .items(let track, let items):
            if let kind = places[track] { events.append(.items(kind, items)) }
        case .report(let track, let report, let arrival):
            if let kind = places[track] {
                events.append(.report(kind, report, arrivalNanoseconds: arrival))
            }
        case .foreign(let track, let reason):
            if let kind = places[track] { events.append(.foreign(kind, reason)) }
        case .ended(let end): self.end = end
        }
    }
}
