import Devices
import Messaging
import CollectorClient
import Trust
import Wire

/// Checks whether the collector is reachable, accepts this box's key, and answers clock probes.
///
/// Only clock probes are sent, so a running agent for the same source is not affected.
enum CollectorCheck {
    private static let connectMilliseconds: Int64 = 5_000
    private static let answerMilliseconds: Int64 = 2_000
    private static let probes = 8

    /// - Parameters:
    ///   - keySources: the sources that the box's key has to be authorised for; empty: this one.
    ///   - bitrate: of the capture, bits per second; nil if unknown.
    static func look(
        _ settings: UplinkSettings, keySources: [String] = [], bitrate: Int?
    ) -> [Diagnosis] {
        let endpoints = settings.collectors
        let holder = KeyHolder(
            of: keySources, source: settings.sourceName, box: settings.agentName)
        return endpoints.flatMap { endpoint in
            var own = settings
            own.endpoint = endpoint
            own.security = settings.security(of: endpoint)
            return lookAtOne(own, holder, bitrate: bitrate)
        }
    }

    private static func lookAtOne(
        _ settings: UplinkSettings, _ holder: KeyHolder, bitrate: Int?
    ) -> [Diagnosis] {
        do throws(MessagingError) {
            let context = try Context()
            let wakeUp = try WakeUp()
            var connection = try LinkConnection(
                to: settings.endpoint, security: settings.security, asksForTime: true, in: context,
                wakeUp: wakeUp)
            let findings = try connect(&connection, settings, holder)
            guard findings.allSatisfy({ $0.verdict == .ok }) else { return findings }
            let (finding, releaseSeconds) = try clock(&connection, settings)
            return findings + [finding]
                + [
                    SpoolCheck.look(
                        at: settings, releaseSeconds: releaseSeconds, bitrate: bitrate)
                ].compactMap(\.self)
        } catch {
            return [
                Diagnosis(
                    "collector", .problem,
                    "cannot connect to \(settings.endpoint): \(error); check --collector")
            ]
        }
    }

    private static func connect(
        _ connection: inout LinkConnection, _ settings: UplinkSettings, _ holder: KeyHolder
    ) throws(MessagingError) -> [Diagnosis] {
        let deadline = now() + connectMilliseconds * 1_000_000
        let reached = Diagnosis("collector", .ok, "a program listens at \(settings.endpoint)")
        var isReached = false
        while now() < deadline {
            try connection.wait(milliseconds: 100)
            while let event = try connection.nextEvent() {
                switch event {
                case .connected: isReached = true
                case .ready:
                    return [reached, Diagnosis("key", .ok, keyText(settings))]
                case .handshakeFailed(_, let failure):
                    return [
                        reached,
                        Diagnosis(
                            "key", .problem,
                            HandshakeAdvice.line(
                                failure, endpoint: settings.endpoint, name: holder.name,
                                sources: holder.sources, security: settings.security)),
                    ]
                case .accepted, .retrying, .disconnected, .other: continue
                }
            }
        }
        if isReached {
            return [
                Diagnosis(
                    "collector", .problem,
                    "the program at \(settings.endpoint) does not answer: the collector there hangs, or it is another "
                        + "program; check its log and --collector")
            ]
        }
        if let trouble = connection.hostTrouble(now: now()) {
            return [Diagnosis("collector", .problem, "\(trouble): check --collector")]
        }
        return [
            Diagnosis(
                "collector", .problem,
                "no program listens at \(settings.endpoint): start tributary-collector there, check --collector, "
                    + "and open its port in the firewall")
        ]
    }

    private static func keyText(_ settings: UplinkSettings) -> String {
        switch settings.security {
        case .client(let key, _):
            "the collector admits this box's key \(key.publicKey.text); 'tributary keys list' there shows "
                + "the sources it may write"
        case .plain, .server: "the collector requires no key"
        }
    }

    private static func clock(
        _ connection: inout LinkConnection, _ settings: UplinkSettings
    ) throws(MessagingError) -> (Diagnosis, releaseSeconds: UInt32) {
        let deadline = now() + answerMilliseconds * 1_000_000
        var quickest: Int64?
        var releaseSeconds: UInt32 = 0
        var answers = 0
        while answers < probes, now() < deadline {
            let sent = now()
            guard try connection.sendProbe(WireMessage.clockProbe(ClockProbe(t1: sent)).encoded())
            else {
                try connection.wait(milliseconds: 20)
                continue
            }
            guard let (roundTrip, release) = try answer(to: sent, &connection, deadline) else {
                break
            }
            answers += 1
            releaseSeconds = release
            quickest = min(quickest ?? roundTrip, roundTrip)
        }
        guard let quickest else {
            if try wasClosed(connection) {
                return (
                    Diagnosis(
                        "collector", .problem,
                        "the collector at \(settings.endpoint) closed the connection: this key may just have been revoked, or a limit is "
                            + "reached; 'tributary top' on the server shows the reasons of refusals, and its log the addresses"
                    ), 0
                )
            }
            return (
                Diagnosis(
                    "clock", .problem,
                    "the collector at \(settings.endpoint) does not answer clock probes: check that it is a collector of the same version"
                ), 0
            )
        }
        return (
            Diagnosis(
                "clock", .ok,
                "the collector's clock answers within \(milliseconds(quickest)): the error bound of timestamps is half of that"
            ), releaseSeconds
        )
    }

    /// Milliseconds with three decimals: `0.082 ms`.
    static func milliseconds(_ nanoseconds: Int64) -> String {
        let microseconds = (nanoseconds + 500) / 1_000
        return "\(microseconds / 1_000).\(String(1_000 + microseconds % 1_000).dropFirst()) ms"
    }

    /// Whether the collector has ended a connection that it had admitted.
    private static func wasClosed(
        _ connection: borrowing LinkConnection
    ) throws(MessagingError) -> Bool {
        while let event = try connection.nextEvent() {
            if case .disconnected = event { return true }
        }
        return false
    }

    private static func answer(
        to sent: Int64, _ connection: inout LinkConnection, _ deadline: Int64
    ) throws(MessagingError) -> (roundTrip: Int64, releaseSeconds: UInt32)? {
        while now() < deadline {
            try connection.wait(milliseconds: 50)
            while let message = try connection.nextClockMessage() {
                let received = now()
                do throws(WireError) {
                    if case .clockReply(let reply) = try WireMessage(decoding: message),
                        reply.t1 == sent
                    {
                        return (
                            received - sent - (reply.t3 - reply.t2), reply.releaseSeconds
                        )
                    }
                } catch {
                    return nil
                }
            }
        }
        return nil
    }

    private static func now() -> Int64 { MonotonicClock().nowNanoseconds }
}
