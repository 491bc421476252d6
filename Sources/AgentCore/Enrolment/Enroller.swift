import Devices
package import Messaging
import CollectorClient
package import Trust
package import Wire

/// Exchanges an enrolment's one-time key for this box's own, at the collector.
package struct Enroller: Sendable {
    private static let connectNanoseconds: Int64 = 10_000_000_000
    /// Response timeout: the server has to make a file durable.
    private static let answerNanoseconds: Int64 = 15_000_000_000
    private static let followNanoseconds: Int64 = 2_500_000_000
    private static let pauseNanoseconds: Int64 = 500_000_000

    private let line: EnrolmentLine
    private let key: SecretKey
    private let request: Enrol

    /// - Parameters:
    ///   - line: printed by the server.
    ///   - key: the box's key, which is on disk already, so that a request can be repeated after a lost response.
    package init(line: EnrolmentLine, key: SecretKey, software: String, agent: String) {
        self.line = line
        self.key = key
        request = Enrol(software: software, agent: agent, publicKey: key.publicKey.bytes)
    }

    /// A collector's response to an enrolment request.
    private enum Answer {
        case enrolled(Enrolled)
        /// It does not admit the key.
        case notAdmitted
        /// One line with the reason and what to do.
        case failed(String)
    }

    /// Enrols, and proves that the box's own key is admitted. Blocks its thread for some seconds at most.
    package func run() throws(EnrolmentError) -> Enrolled {
        // A collector reloads its key files within two seconds: the line may be newer.
        let deadline = now() + Self.followNanoseconds
        while true {
            let isExchanged: Bool
            switch ask(with: line.token) {
            case .enrolled: isExchanged = true
            case .notAdmitted: isExchanged = false
            case .failed(let text): throw EnrolmentError(description: text)
            }
            // Tried even if the line was refused: this box may have used it before and missed the answer.
            switch ask(with: key) {
            case .enrolled(let enrolled): return enrolled
            case .notAdmitted: break
            case .failed(let text): throw EnrolmentError(description: text)
            }
            if isExchanged {
                throw EnrolmentError(
                    description:
                        "\(collector) has enrolled this box but does not accept its key: see the collector's log"
                )
            }
            guard now() < deadline else {
                throw EnrolmentError(description: notTaken, isRefused: true)
            }
            MonotonicClock().sleep(untilNanoseconds: now() + Self.pauseNanoseconds)
        }
    }

    private var notTaken: String {
        "\(collector) does not accept this line: it has been used, has expired or was revoked; on the server, "
            + "'tributary keys enrol' prints a new one"
    }

    private var collector: String { "the collector at \(line.endpoint)" }

    /// One connection with a key.
    private func ask(with key: SecretKey) -> Answer {
        do throws(MessagingError) {
            let context = try Context()
            var connection = try LinkConnection(
                to: line.endpoint, security: .client(key, server: line.collectorKey),
                asksForTime: false, in: context, wakeUp: try WakeUp())
            if let trouble = try connect(&connection) { return trouble }
            try connection.send(WireMessage.enrol(request).encoded(), nil)
            return try answer(&connection)
        } catch {
            return .failed("cannot connect to \(line.endpoint): \(error)")
        }
    }

    /// - Returns: nil when messages flow.
    private func connect(_ connection: inout LinkConnection) throws(MessagingError) -> Answer? {
        let deadline = now() + Self.connectNanoseconds
        var isReached = false
        while now() < deadline {
            try connection.wait(milliseconds: 100)
            while let event = try connection.nextEvent() {
                switch event {
                case .ready: return nil
                case .handshakeFailed(_, .refused): return .notAdmitted
                case .handshakeFailed(_, .securityMismatch):
                    return .failed("\(collector) uses no keys: no enrolment is needed")
                case .handshakeFailed:
                    return .failed(
                        "\(collector) does not have the key in this line, uses no keys, or is not a collector: get a new line "
                            + "from the server that records this box")
                case .connected: isReached = true
                case .accepted, .retrying, .disconnected, .other: continue
                }
            }
        }
        if isReached {
            return .failed(
                "\(collector) accepts connections but does not answer: check its log, and restart it if it hangs"
            )
        }
        if let trouble = connection.hostTrouble(now: now()) {
            return .failed("\(trouble): print a new line with another --server")
        }
        return .failed(
            "no answer from \(line.endpoint): start tributary-collector there, open its port in the firewall, or "
                + "print a new line with another --server")
    }

    private func answer(_ connection: inout LinkConnection) throws(MessagingError) -> Answer {
        let deadline = now() + Self.answerNanoseconds
        while now() < deadline {
            try connection.wait(milliseconds: 100)
            while let message = try connection.nextMessage() {
                do throws(WireError) {
                    switch try WireMessage(decoding: message) {
                    case .enrolled(let enrolled): return .enrolled(enrolled)
                    case .refusal(let refusal):
                        return .failed("\(collector) refused: \(refusal.text)")
                    case .hello, .samples, .gap, .trackUpdate, .goodbye, .clockProbe, .heartbeat,
                        .report, .enrol, .welcome, .acknowledgement, .clockReply, .ping, .command,
                        .unknown:
                        continue
                    }
                } catch {
                    return .failed(
                        "\(collector) sent an invalid message: \(error); use the same version on both machines"
                    )
                }
            }
        }
        return .failed(
            "\(collector) does not answer: check that it has the same version ('tributary-collector --version')"
        )
    }

    private func now() -> Int64 { MonotonicClock().nowNanoseconds }
}

/// Enrolment failed: one line with the remedy.
package struct EnrolmentError: Error, Hashable, CustomStringConvertible {
    package let description: String
    /// The collector does not accept the key.
    package var isRefused = false
}
