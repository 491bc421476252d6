import Testing

@testable import ONVIF

@Suite struct DeviceProbeTests {
    private func probe() -> DeviceProbe {
        var number: UInt64 = 0
        return DeviceProbe {
            number += 0x0123_4567_89AB_CDEF
            return number
        }
    }

    /// The identifier of a sent probe.
    private func identifier(_ datagram: [UInt8]) throws -> String {
        let text = String(decoding: datagram, as: UTF8.self)
        let range = try #require(text.firstRange(of: "urn:uuid:"))
        return String(text[range.lowerBound...].prefix { $0 != "<" })
    }

    private func answer(
        to identifier: String, endpoint: String = "urn:uuid:1", scopes: String = "",
        addresses: String = "http://10.0.0.7/onvif/device_service"
    ) -> [UInt8] {
        Array(
            """
            <?xml version="1.0" encoding="UTF-8"?><SOAP-ENV:Envelope><SOAP-ENV:Header><wsa:RelatesTo>
            \(identifier)</wsa:RelatesTo></SOAP-ENV:Header><SOAP-ENV:Body><d:ProbeMatches><d:ProbeMatch>\
            <wsa:EndpointReference><wsa:Address>\(endpoint)</wsa:Address></wsa:EndpointReference>\
            <d:Types>dn:NetworkVideoTransmitter</d:Types><d:Scopes>\(scopes)</d:Scopes>\
            <d:XAddrs>\(addresses)</d:XAddrs></d:ProbeMatch></d:ProbeMatches></SOAP-ENV:Body></SOAP-ENV:Envelope>
            """.utf8)
    }

    @Test func `two probes are sent with different identifiers`() throws {
        let texts = probe().datagrams.map { String(decoding: $0, as: UTF8.self) }
        #expect(texts.count == 2)
        #expect(texts[0].contains(">n:NetworkVideoTransmitter<"))
        #expect(texts[1].contains(">n:Device<"))
        let identifiers = try probe().datagrams.map(identifier)
        #expect(identifiers[0] == "urn:uuid:01234567-89ab-4def-8246-8acf13579bde")
        #expect(Set(identifiers).count == 2)
    }

    @Test func `a camera is listed once, with name and model`() throws {
        var probe = probe()
        let scopes =
            "onvif://www.onvif.org/type/video_encoder onvif://www.onvif.org/name/Front%20Door%2"
            + " onvif://www.onvif.org/hardware/DS-2CD"
        for datagram in probe.datagrams {
            probe.receive(
                answer(to: try identifier(datagram), scopes: scopes), from: "10.0.0.7")
        }
        #expect(
            probe.devices == [
                DiscoveredDevice(
                    host: "10.0.0.7", endpoint: "urn:uuid:1", name: "Front Door%2",
                    hardware: "DS-2CD",
                    service: try DeviceURL(parsing: "http://10.0.0.7/onvif/device_service"))
            ])
    }

    @Test func `answers with another host's address are ignored`() throws {
        var probe = probe()
        let identifier = try identifier(probe.datagrams[0])
        probe.receive(
            answer(
                to: identifier,
                addresses: "https://10.0.0.9/ http://169.254.1.1:81/a http://10.0.0.9:82/b"),
            from: "10.0.0.9")
        probe.receive(
            answer(to: identifier, addresses: "http://victim.example:8080/x"), from: "10.0.0.66")
        probe.receive(answer(to: identifier, addresses: "https://10.0.0.5/"), from: "10.0.0.5")
        probe.receive(answer(to: identifier, addresses: "ftp://10.0.0.6/"), from: "10.0.0.6")
        #expect(
            probe.devices.map { $0.service?.text } == [
                "http://10.0.0.9:82/b", "http://10.0.0.66:8080/x", "https://10.0.0.5/", nil,
            ])
    }

    @Test func `a camera is listed once if it answers over IPv4 and IPv6`() throws {
        var probe = probe()
        let identifier = try identifier(probe.datagrams[0])
        let link = "fe80::1%eth0"
        probe.receive(answer(to: identifier, endpoint: "urn:uuid:both"), from: link)
        probe.receive(answer(to: identifier, endpoint: "urn:uuid:both"), from: "10.0.0.7")
        probe.receive(
            answer(
                to: identifier, endpoint: "urn:uuid:six",
                addresses: "http://[2001:db8::1]/a http://[fe80::1]:81/b"), from: link)
        // Identities that are unknown, and an IPv4 address that cannot be asked, hide nothing.
        probe.receive(answer(to: identifier, endpoint: ""), from: "fe80::2%eth0")
        probe.receive(answer(to: identifier, endpoint: ""), from: "10.0.0.8")
        probe.receive(answer(to: identifier, endpoint: "urn:uuid:old"), from: "fe80::3%eth0")
        probe.receive(
            answer(to: identifier, endpoint: "urn:uuid:old", addresses: ""), from: "10.0.0.9")
        #expect(
            probe.devices.map(\.host) == [
                "10.0.0.7", link, "fe80::2%eth0", "10.0.0.8", "fe80::3%eth0", "10.0.0.9",
            ])
        let service = try #require(probe.devices[1].service)
        #expect(service.text == "http://[fe80::1%25eth0]:81/b" && service.host == link)
        #expect(service.authority == "[fe80::1]:81", "other machines do not know the zone")
    }

    @Test func `answers to another probe are ignored`() throws {
        var probe = probe()
        let own = try identifier(probe.datagrams[0])
        probe.receive(answer(to: "urn:uuid:00000000-0000-4000-8000-000000000000"), from: "10.0.0.7")
        probe.receive(Array("<a".utf8), from: "10.0.0.7")
        probe.receive(probe.datagrams[0], from: "10.0.0.7")
        probe.receive(
            Array(
                "<Envelope><Header><RelatesTo>\(own)</RelatesTo></Header><Body/></Envelope>".utf8),
            from: "10.0.0.7")
        #expect(probe.devices.isEmpty)
    }

    @Test func `a flood of answers is limited`() throws {
        var probe = probe()
        let identifier = try identifier(probe.datagrams[0])
        for number in 0..<1_000 {
            probe.receive(answer(to: identifier), from: "10.0.\(number / 250).\(number % 250)")
        }
        #expect(probe.devices.count == DeviceProbe.maximumDevices)
    }

    @Test func `a device that answers a thousand times does not keep others off the list`() throws {
        var probe = probe()
        let identifier = try identifier(probe.datagrams[0])
        for number in 0..<1_000 {
            probe.receive(answer(to: identifier, endpoint: "\(number)"), from: "10.0.0.66")
        }
        #expect(probe.devices.count == DeviceProbe.maximumDevicesOfHost)
        probe.receive(answer(to: identifier), from: "10.0.0.7")
        #expect(probe.devices.last?.host == "10.0.0.7")
    }

    @Test(arguments: ["::1", "fe80::1", "fe80::1:80"])
    func `an IPv6 address without brackets is refused with the right form`(place: String) {
        #expect(
            throws: ONVIFError.invalidURL(
                "an IPv6 address is in brackets: [ADDRESS] or [ADDRESS]:PORT")
        ) {
            try DeviceURL(deviceServiceOf: place)
        }
    }

    @Test(arguments: [
        ("http://10.0.0.7", "http://10.0.0.7/"),
        ("HTTP://camera:8080/a?b#c", "http://camera:8080/a?b"),
        ("http://[fe80::1]:81/x", "http://[fe80::1]:81/x"), ("http://h:80/x", "http://h/x"),
        ("https://h:443/x", "https://h/x"), ("HTTPS://h:80/", "https://h:80/"),
        ("http://[fe80::1%25eth0]/", "http://[fe80::1%25eth0]/"),
        ("http://[fe80::1%eth0]/", "http://[fe80::1%25eth0]/"),
    ])
    func `an address is parsed and completed`(text: String, whole: String) throws {
        #expect(try DeviceURL(parsing: text).text == whole)
    }

    @Test(arguments: [
        ("camera", "http://camera/onvif/device_service"),
        ("camera:81", "http://camera:81/onvif/device_service"),
        ("https://camera", "https://camera/onvif/device_service"),
        ("https://[fe80::1%eth0]:444", "https://[fe80::1%25eth0]:444/onvif/device_service"),
    ])
    func `a camera is named by its host, and by https for TLS`(place: String, whole: String) throws
    {
        #expect(try DeviceURL(deviceServiceOf: place).text == whole)
    }

    @Test(arguments: ["https://camera/path", "https://", "camera/", "ftp://camera", "u@camera"])
    func `another address of a camera is refused`(place: String) {
        #expect(throws: ONVIFError.self) { try DeviceURL(deviceServiceOf: place) }
    }

    @Test(arguments: [
        "httpss://h/", "https://", "http://", "http:///x", "http://u:p@h/", "http://h:0/",
        "http://h:99999/",
        "http://h:/", "http://[::1/", "http://[::1]x/", "http://h/\r\nX: y", "http://h/ä",
    ])
    func `an address that cannot be used is refused`(text: String) {
        #expect(throws: ONVIFError.self) { try DeviceURL(parsing: text) }
    }
}
