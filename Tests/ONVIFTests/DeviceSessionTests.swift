import Media
import RTSP
import Testing

@testable import ONVIF

@Suite struct DeviceSessionTests {
    private static let login = CameraLogin(user: "admin", password: "geheim")

    /// Asks a camera everything; an answer takes 200 ms.
    private func examine(
        _ device: inout FakeDevice, login: CameraLogin? = nil, at place: String = "10.0.0.7"
    ) throws -> DeviceFacts {
        var session = DeviceSession(
            service: try DeviceURL(deviceServiceOf: place), login: login, agent: "test")
        var number: UInt8 = 0
        func nonce() -> [UInt8] {
            number &+= 1
            return [UInt8](repeating: number, count: DeviceSession.nonceBytes)
        }
        let now = FakeDevice.now * 1_000_000_000
        while let request = session.next(utcNanoseconds: now, nonce: nonce()) {
            try #require(device.asked.count < 100)
            session.answered(
                try device.answer(request), sentUTCNanoseconds: now,
                receivedUTCNanoseconds: now + 200_000_000, nonce: nonce())
        }
        return session.facts
    }

    @Test func `H.265 is found by the second media service`() throws {
        var device = FakeDevice()
        let facts = try examine(&device)
        #expect(facts.manufacturer == "ACME" && facts.model == "Dome & Co")
        #expect(facts.firmware == "1.2" && facts.serial == "A-7" && facts.problem == nil)
        #expect(facts.isAnswered)
        #expect(facts.profiles.map(\.name) == ["Main", "Sub"])
        #expect(
            facts.profiles[0].video
                == DeviceProfile.Video(
                    codec: "H.265", width: 3_840, height: 2_160, rate: 25,
                    bitsPerSecond: 8_192_000, keyframeInterval: 50))
        #expect(facts.profiles[0].audio == DeviceProfile.Audio(codec: "AAC", sampleRate: 16_000))
        #expect(facts.profiles[1].video?.codec == "H.264")
        #expect(facts.profiles.allSatisfy { $0.isRecordable })
        #expect(
            device.asked == [
                "GetSystemDateAndTime", "GetDeviceInformation", "GetServices", "GetProfiles",
                "GetStreamUri", "GetStreamUri",
            ])
    }

    @Test func `services of a camera that is asked over TLS are asked over TLS`() throws {
        var device = FakeDevice()
        var session = DeviceSession(
            service: try DeviceURL(deviceServiceOf: "https://10.0.0.7:8443"), login: nil,
            agent: "test")
        let nonce = [UInt8](repeating: 1, count: DeviceSession.nonceBytes)
        var asked: [String] = []
        while let request = session.next(utcNanoseconds: 0, nonce: nonce) {
            asked.append(request.url.text)
            session.answered(
                try device.answer(request), sentUTCNanoseconds: 0, receivedUTCNanoseconds: 1,
                nonce: nonce)
        }
        // The camera states http://192.168.1.2:8000/onvif/media2.
        #expect(asked.last == "https://10.0.0.7:8443/onvif/media2")
        #expect(asked.allSatisfy { $0.hasPrefix("https://10.0.0.7:8443/") })
        #expect(session.facts.profiles.count == 2)
    }

    @Test func `a stream is where the camera was asked, without the credentials that it states`()
        throws
    {
        var device = FakeDevice()
        let facts = try examine(&device)
        #expect(facts.profiles[0].url?.text == "rtsp://10.0.0.7:8554/live?channel=1&sub=0")
    }

    @Test(arguments: [FakeDevice.second, FakeDevice.first])
    func `a login is sent to no other host, whatever addresses the camera states`(
        answers: [String: String]
    ) throws {
        let stated = answers.mapValues { $0.replacing("//10.0.0.7", with: "//10.0.0.66") }
        var device = FakeDevice(login: .token, answers: stated)
        let facts = try examine(&device, login: Self.login)
        #expect(facts.problem == nil && !facts.profiles.isEmpty)
        #expect(device.hosts == ["10.0.0.7"])
        #expect(facts.profiles.allSatisfy { $0.url?.host == "10.0.0.7" })
    }

    @Test func `a camera without a list of services is asked for its capabilities`() throws {
        var device = FakeDevice(answers: FakeDevice.first)
        let facts = try examine(&device)
        #expect(facts.problem == nil && facts.manufacturer == nil)
        #expect(facts.profiles.map(\.token) == ["p<1>"])
        #expect(facts.profiles[0].url?.text == "rtsp://10.0.0.7/one")
        #expect(facts.profiles[0].audio?.codec == "G.711")
        #expect(
            facts.profiles[0].video
                == DeviceProfile.Video(
                    codec: "H.264", width: 1_920, height: 1_080, rate: 30,
                    bitsPerSecond: 4_096_000, keyframeInterval: 60))
    }

    @Test func `a second media service that fails is replaced by the first`() throws {
        var device = FakeDevice(answers: FakeDevice.first)
        device.answers["GetServices"] = FakeDevice.second["GetServices"]
        device.answers["GetProfiles"] = nil
        let facts = try examine(&device)
        #expect(device.asked.filter { $0 == "GetProfiles" }.count == 2)
        #expect(facts.problem == "GetProfiles is refused: Optional Action Not Implemented")
    }

    @Test(arguments: [1, 2, 100])
    func `HTTP digest is used where it is offered, also with nonces that do not last`(
        lifetime: Int
    ) throws {
        var device = FakeDevice(login: .digest(lifetime: lifetime))
        let facts = try examine(&device, login: Self.login)
        #expect(facts.problem == nil && facts.profiles.count == 2)
        #expect(facts.profiles.allSatisfy { $0.url != nil })
    }

    @Test(arguments: [0, 3_600, -7_200, -FakeDevice.now] as [Int64])
    func `WS-UsernameToken has the time of the camera's clock`(ahead: Int64) throws {
        var device = FakeDevice(login: .token, aheadSeconds: ahead)
        let facts = try examine(&device, login: Self.login)
        #expect(facts.problem == nil && facts.profiles.count == 2)
    }

    @Test(arguments: [FakeDevice.Login.digest(lifetime: 9), .token, .locked])
    func `a wrong login is tried once with each method`(_ login: FakeDevice.Login) throws {
        var device = FakeDevice(login: login)
        let facts = try examine(
            &device, login: CameraLogin(user: "admin", password: "other"))
        #expect(facts.problem == "it does not accept the login of --camera-login")
        #expect(device.attempts <= 2)
        #expect(facts.clock != nil)
    }

    @Test func `a camera that needs a login is reported with the option to set`() throws {
        var device = FakeDevice(login: .token)
        let facts = try examine(&device)
        #expect(facts.problem?.contains("--camera-login FILE") == true)
        #expect(device.attempts == 0)
    }

    @Test(
        arguments: [
            (0, DeviceClock.Verdict.right), (3, .ahead), (3_600, .ahead), (-3_600, .behind),
            (-FakeDevice.now + 60, .neverSet),
        ] as [(Int64, DeviceClock.Verdict)])
    func `the clock is compared within the bounds of the question`(
        ahead: Int64, verdict: DeviceClock.Verdict
    ) throws {
        var device = FakeDevice(aheadSeconds: ahead)
        let clock = try #require(try examine(&device).clock)
        #expect(clock.verdict == verdict)
        #expect(clock.isSetByNTP == false)
        #expect(clock.leastAheadNanoseconds == ahead * 1_000_000_000 - 200_000_000)
        #expect(clock.greatestAheadNanoseconds == (ahead + 1) * 1_000_000_000)
    }

    /// Nanoseconds since 1970 of such years have more than 64 bits.
    @Test(arguments: [8_000_000_000, 200_000_000_000] as [Int64])
    func `a clock that is centuries off is compared`(ahead: Int64) throws {
        var device = FakeDevice(aheadSeconds: ahead)
        let clock = try #require(try examine(&device).clock)
        #expect(clock.statedSeconds == FakeDevice.now + ahead)
        #expect(clock.verdict == .ahead)
    }

    @Test func `an answer of another kind of device is reported`() throws {
        var session = DeviceSession(
            service: try DeviceURL(deviceServiceOf: "10.0.0.1"), login: nil, agent: "test")
        let nonce = [UInt8](repeating: 0, count: 16)
        _ = session.next(utcNanoseconds: 0, nonce: nonce)
        var reader = HTTPResponseReader()
        let page = try #require(
            try reader.add(
                Array("HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\n\r\n<html>".utf8)))
        session.answered(
            page, sentUTCNanoseconds: 0, receivedUTCNanoseconds: 1, nonce: nonce)
        #expect(session.next(utcNanoseconds: 0, nonce: nonce) == nil)
        #expect(
            session.facts.problem == "GetSystemDateAndTime is answered with status 404")
        #expect(!session.facts.isAnswered)
    }

    @Test func `a camera that does not answer is asked only once`() throws {
        var session = DeviceSession(
            service: try DeviceURL(deviceServiceOf: "10.0.0.1"), login: nil, agent: "test")
        let nonce = [UInt8](repeating: 0, count: 16)
        _ = session.next(utcNanoseconds: 0, nonce: nonce)
        session.failed("cannot connect: Connection refused")
        #expect(session.next(utcNanoseconds: 0, nonce: nonce) == nil)
        #expect(session.facts.problem == "cannot connect: Connection refused")
    }

    @Test func `profiles and texts of a camera are limited`() throws {
        var device = FakeDevice()
        device.answers["GetProfiles"] =
            "<GetProfilesResponse>"
            + (0..<1_000).map {
                "<Profiles token=\"\($0)\"><Name>\u{202E}a&#10;b\($0)</Name></Profiles>"
            }
            .joined() + "<Profiles/></GetProfilesResponse>"
        device.answers["GetDeviceInformation"] =
            "<GetDeviceInformationResponse><Model>\(String(repeating: "m", count: 5_000))</Model></GetDeviceInformationResponse>"
        let facts = try examine(&device)
        #expect(facts.profiles.count == 16)
        #expect(facts.profiles[3].name == "a b3")
        #expect(facts.model?.count == 96)
        #expect(facts.profiles.allSatisfy { !$0.isRecordable })
    }

    @Test(arguments: ["http://10.0.0.7/live", "rtsp://10.0.0.7:0/x", "rtsp:///x", ""])
    func `a stream without a usable address has a reason`(uri: String) throws {
        var device = FakeDevice()
        device.answers["GetStreamUri"] =
            "<GetStreamUriResponse><Uri>\(uri)</Uri></GetStreamUriResponse>"
        let facts = try examine(&device)
        #expect(facts.profiles.count == 2)
        #expect(facts.profiles.allSatisfy { $0.url == nil && $0.obstacle?.isEmpty == false })
    }
}
