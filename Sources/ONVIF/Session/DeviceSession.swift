import Media
package import RTSP
import XML

/// The conversation with one camera's ONVIF services: clock, description, profiles and their streams.
///
/// A value without sockets and clocks: the caller sends ``next(utcNanoseconds:nonce:)`` and passes the answer, or the reason
/// why there is none, until no request follows. Requests are sent without a login until the camera requires one; then with
/// HTTP digest if it offers that, else with WS-UsernameToken. A refused login is tried the other way once, and not again:
/// some cameras lock the account.
package struct DeviceSession: Sendable {
    /// Bytes of a nonce.
    package static let nonceBytes = 16
    /// Requests of a session: questions, and repetitions with a login.
    private static let maximumRequests = 64

    private enum Credentials {
        case none
        case digest(DigestAuthenticator)
        case token
    }

    package private(set) var facts = DeviceFacts()
    private let service: DeviceURL
    private let login: CameraLogin?
    private let agent: String
    private var queue: [DeviceOperation] = [.clock, .information, .services]
    private var asked: DeviceOperation?
    private var media: [DeviceMedia] = []
    private var credentials = Credentials.none
    /// A request with the credentials was accepted.
    private var isAccepted = false
    private var requests = 0
    /// The camera's clock less this machine's.
    private var aheadNanoseconds: Int64 = 0

    /// - Parameters:
    ///   - service: the device service.
    ///   - agent: `User-Agent`.
    package init(service: DeviceURL, login: CameraLogin?, agent: String) {
        self.service = service
        self.login = login
        self.agent = agent
    }

    /// - Parameters:
    ///   - now: this machine's UTC.
    ///   - nonce: unpredictable bytes.
    /// - Returns: the next request; nil: ``facts`` are complete.
    package mutating func next(utcNanoseconds now: Int64, nonce: [UInt8]) -> DeviceRequest? {
        precondition(nonce.count == Self.nonceBytes && asked == nil)
        guard !queue.isEmpty else { return nil }
        guard requests < Self.maximumRequests else {
            end("it asks for a login again and again")
            return nil
        }
        requests += 1
        let operation = queue.removeFirst()
        asked = operation
        let url =
            switch operation {
            case .clock, .information, .services, .capabilities: service
            case .profiles(let media), .streamURI(let media, _): media.url
            }
        var header = ""
        var authorization: String?
        switch credentials {
        case .none: break
        case .digest(var own):
            authorization = own.authorization(method: "POST", uri: url.path)
            credentials = .digest(own)
        case .token:
            if let login {
                let camera = now.clampedAdding(aheadNanoseconds)
                header =
                    UsernameToken(
                        login, nonce: nonce, cameraSeconds: camera.flooredQuotient(1_000_000_000)
                    ).header
            }
        }
        return DeviceRequest(
            url, action: operation.action, authorization: authorization, agent: agent,
            body: SOAPEnvelope.text(header: header, body: operation.body))
    }

    /// There was no answer.
    package mutating func failed(_ reason: String) {
        guard let asked else { return }
        self.asked = nil
        // Without an answer to the first question, no other one would be answered.
        if asked == .clock { return end(reason) }
        lack(asked, reason)
    }

    /// Passes the answer.
    /// - Parameters:
    ///   - sent: when the request was sent, this machine's UTC.
    ///   - received: when the answer was there.
    ///   - nonce: unpredictable bytes.
    package mutating func answered(
        _ response: HTTPResponse, sentUTCNanoseconds sent: Int64,
        receivedUTCNanoseconds received: Int64, nonce: [UInt8]
    ) {
        guard let asked else { return }
        self.asked = nil
        let answer: SOAPAnswer
        do throws(ONVIFError) {
            answer = try SOAPAnswer(parsing: response.body)
        } catch {
            if response.status == 401 { return authenticate(asked, response, nonce) }
            let reason =
                response.status == 200
                ? "\(error)" : "\(asked.name) is answered with status \(response.status)"
            // An invalid answer to the first question: the device has no ONVIF service.
            return asked == .clock ? end(reason) : lack(asked, reason)
        }
        facts.isAnswered = true
        switch answer {
        case .fault(let fault):
            if response.status == 401 || fault.isAboutCredentials {
                return authenticate(asked, response, nonce)
            }
            isAccepted = true
            lack(asked, "\(asked.name) is refused: \(fault.reason)")
        case .body(let body):
            if response.status == 401 { return authenticate(asked, response, nonce) }
            isAccepted = true
            guard body.name == "\(asked.name)Response" else {
                return lack(asked, "\(asked.name) is answered with something else")
            }
            switch asked {
            case .clock:
                noteClock(DeviceAnswers.clock(body), sent, received)
            case .information:
                facts.manufacturer = body.text(of: "Manufacturer").flatMap(Self.stated)
                facts.model = body.text(of: "Model").flatMap(Self.stated)
                facts.firmware = body.text(of: "FirmwareVersion").flatMap(Self.stated)
                facts.serial = body.text(of: "SerialNumber").flatMap(Self.stated)
            case .services:
                media = DeviceAnswers.media(inServices: body, beside: service)
                askForProfiles(else: .capabilities)
            case .capabilities:
                media =
                    DeviceAnswers.media(inCapabilities: body, beside: service).map { [$0] } ?? []
                askForProfiles(else: nil)
            case .profiles(let media):
                facts.profiles = DeviceAnswers.profiles(body)
                queue += facts.profiles.map { .streamURI(media, token: $0.token) }
            case .streamURI(_, let token): noteStream(DeviceAnswers.streamURI(body), token)
            }
        }
    }

    private static func stated(_ text: String) -> String? {
        let shown = shownText(text)
        return shown.isEmpty ? nil : shown
    }

    private mutating func noteClock(
        _ stated: (seconds: Int64, isSetByNTP: Bool?)?, _ sent: Int64, _ received: Int64
    ) {
        guard let stated else { return }
        // The camera's time was from this second until the next one, at an instant between request and answer.
        let nanoseconds = Int64(clamping: Int128(stated.seconds) * 1_000_000_000)
        let clock = DeviceClock(
            statedSeconds: stated.seconds,
            leastAheadNanoseconds: nanoseconds.clampedSubtracting(received),
            greatestAheadNanoseconds: nanoseconds.clampedAdding(1_000_000_000)
                .clampedSubtracting(sent),
            isSetByNTP: stated.isSetByNTP)
        facts.clock = clock
        aheadNanoseconds = clock.leastAheadNanoseconds
    }

    private mutating func askForProfiles(else other: DeviceOperation?) {
        if !media.isEmpty {
            queue.append(.profiles(media.removeFirst()))
        } else if let other {
            queue.append(other)
        } else {
            lackProfiles("it has no media service")
        }
    }

    private mutating func noteStream(_ text: String?, _ token: String) {
        guard let place = facts.profiles.firstIndex(where: { $0.token == token }) else { return }
        guard let text else {
            facts.profiles[place].obstacle = "the camera states no address of the stream"
            return
        }
        do throws(RTSPError) {
            facts.profiles[place].url = try RTSPURL(stated: text, host: service.host)
        } catch {
            facts.profiles[place].obstacle = "\(error)"
        }
    }

    /// A question has no answer.
    private mutating func lack(_ operation: DeviceOperation, _ reason: String) {
        switch operation {
        case .clock, .information: break
        case .services: queue.append(.capabilities)
        case .capabilities: lackProfiles(reason)
        case .profiles:
            if media.isEmpty { return lackProfiles(reason) }
            queue.append(.profiles(media.removeFirst()))
        case .streamURI(_, let token):
            if let place = facts.profiles.firstIndex(where: { $0.token == token }) {
                facts.profiles[place].obstacle = reason
            }
        }
    }

    private mutating func lackProfiles(_ reason: String) { facts.problem = reason }

    private mutating func end(_ reason: String) {
        facts.problem = reason
        queue = []
    }

    // MARK: Login

    /// The camera wants a login, or another one.
    private mutating func authenticate(
        _ operation: DeviceOperation, _ response: HTTPResponse, _ nonce: [UInt8]
    ) {
        guard let login else {
            return end(
                "it wants a login: put USER:PASSWORD into a file and use --camera-login FILE")
        }
        let offers = AuthenticationChallenge.offers(in: response.head.values("www-authenticate"))
        let digest = DigestAuthenticator(
            offers, login: login,
            clientNonce: String(
                nonce.reduce(UInt64(0)) { $0 &* 257 &+ UInt64($1) }, radix: 16))
        switch (credentials, digest) {
        case (.none, let digest?): credentials = .digest(digest)
        // A nonce has a lifetime.
        case (.digest, let digest?) where isAccepted: credentials = .digest(digest)
        case (.none, nil), (.digest, _): credentials = .token
        case (.token, _): return end("it does not accept the login of --camera-login")
        }
        isAccepted = false
        queue.insert(operation, at: 0)
    }
}
