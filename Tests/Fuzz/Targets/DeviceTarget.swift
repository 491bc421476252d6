import RTSP

@testable import ONVIF

/// A script: what a camera answers to a search and to questions, as bytes of its connection or as XML. Nothing traps, the questions end,
/// and no byte of the camera's becomes a line of a request.
enum DeviceTarget {
    static func run(_ bytes: [UInt8]) {
        var input = InputReader(bytes)
        let hasLogin = input.byte() & 1 == 1
        var probe = DeviceProbe { 1 }
        let service: DeviceURL
        do throws(ONVIFError) {
            service = try DeviceURL(deviceServiceOf: "camera")
        } catch {
            preconditionFailure("\(error)")
        }
        var session = DeviceSession(
            service: service, login: hasLogin ? CameraLogin(user: "u", password: "p") : nil,
            agent: "fuzz")
        let nonce = [UInt8](repeating: 1, count: DeviceSession.nonceBytes)
        var questions = 0
        while let request = session.next(utcNanoseconds: 0, nonce: nonce) {
            questions += 1
            precondition(questions <= 64, "the questions end")
            check(request)
            if input.isAtEnd {
                session.failed("over")
                continue
            }
            let kind = input.byte()
            if kind & 1 == 1 { probe.receive(input.block(), from: "10.0.0.7") }
            let block = input.block()
            guard let response = response(kind, block) else {
                session.failed("malformed")
                continue
            }
            session.answered(
                response, sentUTCNanoseconds: 0, receivedUTCNanoseconds: 1, nonce: nonce)
        }
        check(session.facts)
        precondition(probe.devices.count <= DeviceProbe.maximumDevices)
        for device in probe.devices {
            precondition(device.service.map { $0.host == "10.0.0.7" } ?? true)
            for text in [device.endpoint, device.name, device.hardware] { check(text) }
        }
    }

    private static func response(_ kind: UInt8, _ block: [UInt8]) -> HTTPResponse? {
        var reader = HTTPResponseReader()
        do throws(ONVIFError) {
            guard kind & 2 == 2 else {
                let middle = block.count / 2
                let first = try reader.add(Array(block[..<middle]))
                if let first { return first }
                let second = try reader.add(Array(block[middle...]))
                if let second { return second }
                return try reader.close()
            }
            let status = kind & 4 == 4 ? "401 No" : "200 OK"
            let head = "HTTP/1.1 \(status)\r\nContent-Length: \(block.count)\r\n\r\n"
            return try reader.add(Array(head.utf8) + block)
        } catch {
            precondition(!"\(error)".isEmpty)
            return nil
        }
    }

    private static func check(_ request: DeviceRequest) {
        precondition(request.url.host == "camera", "a login goes to one host")
        let text = String(decoding: request.bytes, as: UTF8.self)
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        guard let end = lines.firstIndex(of: "") else { preconditionFailure("a head ends") }
        precondition(lines[0].hasPrefix("POST /") && lines[0].hasSuffix(" HTTP/1.1"))
        let names = lines[1..<end].map { $0.prefix { $0 != ":" } }
        let usual = ["Host", "User-Agent", "Content-Type", "Content-Length", "Connection"]
        precondition(names.map(String.init) == usual + (names.count > 5 ? ["Authorization"] : []))
    }

    private static func check(_ facts: DeviceFacts) {
        precondition(facts.profiles.count <= 16)
        for text in [facts.manufacturer, facts.model, facts.firmware, facts.serial, facts.problem] {
            check(text)
        }
        for profile in facts.profiles {
            precondition(profile.url.map { $0.host == "camera" } ?? true)
            precondition((profile.video?.width ?? 0) >= 0 && (profile.audio?.sampleRate ?? 0) >= 0)
            for text in [profile.name, profile.obstacle, profile.video?.codec] { check(text) }
        }
    }

    /// A text for people is one line.
    private static func check(_ text: String?) {
        precondition(
            text?.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } ?? true)
    }
}

/// A camera that answers every question.
enum DeviceSeeds {
    static var session: [UInt8] {
        var script = InputWriter()
        script.byte(1)
        // An answer to the search, and one over HTTP in chunks.
        script.byte(1)
        script.block(
            Array(
                """
                <Envelope><Header><RelatesTo>urn:uuid:00000000-0000-4001-8000-000000000001</RelatesTo></Header><Body>\
                <ProbeMatches><ProbeMatch><EndpointReference><Address>urn:uuid:2</Address></EndpointReference>\
                <Scopes>onvif://www.onvif.org/name/Front%20Door</Scopes><XAddrs>http://10.0.0.7/onvif/device_service\
                </XAddrs></ProbeMatch></ProbeMatches></Body></Envelope>
                """.utf8))
        let clock = envelope(
            """
            <GetSystemDateAndTimeResponse><SystemDateAndTime><DateTimeType>NTP</DateTimeType><UTCDateTime><Time><Hour>1</Hour>\
            <Minute>2</Minute><Second>3</Second></Time><Date><Year>2026</Year><Month>11</Month><Day>27</Day></Date>\
            </UTCDateTime></SystemDateAndTime></GetSystemDateAndTimeResponse>
            """)
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        script.block(
            Array("\(head)\(String(clock.utf8.count, radix: 16))\r\n\(clock)\r\n0\r\n\r\n".utf8))
        // A wish for a login, and a fault.
        script.byte(0)
        script.block(
            Array(
                "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\nContent-Length: 0\r\n\r\n"
                    .utf8))
        answer(
            """
            <Fault><Code><Value>s:Sender</Value><Subcode><Value>ter:NotAuthorized</Value></Subcode></Code>\
            <Reason><Text>no</Text></Reason></Fault>
            """, &script)
        answer(
            """
            <GetDeviceInformationResponse><Manufacturer>A</Manufacturer><Model>B</Model></GetDeviceInformationResponse>
            """, &script)
        answer(
            """
            <GetServicesResponse><Service><Namespace>http://www.onvif.org/ver20/media/wsdl</Namespace>\
            <XAddr>http://10.0.0.7/m</XAddr></Service></GetServicesResponse>
            """, &script)
        answer(
            """
            <GetProfilesResponse><Profiles token="t"><Name>N</Name><Configurations><VideoEncoder GovLength="5">\
            <Encoding>H265</Encoding><Resolution><Width>640</Width><Height>360</Height></Resolution><RateControl>\
            <FrameRateLimit>25</FrameRateLimit><BitrateLimit>900</BitrateLimit></RateControl></VideoEncoder><AudioEncoder>\
            <Encoding>G711</Encoding><SampleRate>8</SampleRate></AudioEncoder></Configurations></Profiles>\
            </GetProfilesResponse>
            """, &script)
        answer(
            "<GetStreamUriResponse><Uri>rtsp://u:p@10.0.0.7/live</Uri></GetStreamUriResponse>",
            &script)
        return script.bytes
    }

    private static func envelope(_ body: String) -> String {
        "<Envelope><Body>\(body)</Body></Envelope>"
    }

    private static func answer(_ body: String, _ script: inout InputWriter) {
        script.byte(2)
        script.block(Array(envelope(body).utf8))
    }
}
