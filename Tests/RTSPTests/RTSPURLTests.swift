import Testing

@testable import RTSP

@Suite struct RTSPURLTests {
    @Test func `a URL is parsed into host, port and path`() throws {
        let url = try RTSPURL(parsing: "rtsp://10.0.0.7:8554/live/main?channel=1")
        #expect(url.host == "10.0.0.7")
        #expect(url.port == 8_554)
        #expect(url.path == "/live/main?channel=1")
        #expect(try RTSPURL(parsing: "RTSP://camera").port == 554)
        #expect(try RTSPURL(parsing: "rtsp://[fe80::1]/x").text == "rtsp://[fe80::1]/x")
        for zone in ["%25eth0", "%eth0"] {
            let url = try RTSPURL(parsing: "rtsp://[fe80::1\(zone)]:8554/x")
            #expect(url.host == "fe80::1%eth0" && url.argument == "rtsp://[fe80::1%25eth0]:8554/x")
            // Other machines do not know the zone.
            #expect(url.text == "rtsp://[fe80::1]:8554/x")
        }
    }

    @Test func `rtsps has its own default port, and is kept in requests`() throws {
        let url = try RTSPURL(parsing: "RTSPS://camera/live")
        #expect(url.isSecure && url.port == 322)
        #expect(url.text == "rtsps://camera/live" && url.summary == "rtsps://camera/live")
        #expect(try RTSPURL(parsing: "rtsps://camera:554/").text == "rtsps://camera:554/")
        #expect(try !RTSPURL(parsing: "rtsp://camera:322/").isSecure)
        #expect(
            url.resolve(control: "t1", base: "rtsps://admin:geheim@camera/live/")
                == "rtsps://camera/live/t1")
        #expect(try url.redirected(to: "rtsp://camera/other").isSecure == false)
    }

    @Test(arguments: [
        "http://camera/", "rtspx://camera/", "rtsps://", "rtsp://", "rtsp:///live",
        "rtsp://camera:0/", "rtsp://camera:99999/",
        "rtsp://cam era/", "rtsp://[fe80::1/", "rtsp://[::1]x/",
    ])
    func `an invalid camera URL is refused`(text: String) {
        #expect(throws: RTSPError.self) { try RTSPURL(parsing: text) }
    }

    @Test func `a password in an address is refused, and not repeated`() throws {
        let error = #expect(throws: RTSPError.self) {
            try RTSPURL(parsing: "rtsp://admin:geheim@camera/live")
        }
        let text = try #require(error?.description)
        #expect(!text.contains("geheim") && !text.contains("admin"))
        #expect(text.contains("--camera-login"))
    }

    @Test func `logs leave out the query, where some cameras want the password`() throws {
        let url = try RTSPURL(parsing: "rtsp://camera/live?user=a&password=geheim")
        #expect(url.summary == "rtsp://camera/live?…")
        let xm = try RTSPURL(parsing: "rtsp://camera/user=admin_password=geheim_channel=1.sdp")
        #expect(xm.summary == "rtsp://camera/…")
    }

    @Test func `a Content-Base without a scheme is ignored`() throws {
        let url = try RTSPURL(parsing: "rtsp://camera/live")
        #expect(
            url.resolve(control: "trackID=1", base: "192.168.1.5/live/")
                == "rtsp://camera/live/trackID=1")
    }

    @Test func `controls are resolved against their base as cameras expect`() throws {
        let url = try RTSPURL(parsing: "rtsp://camera/live")
        #expect(url.resolve(control: nil, base: nil) == "rtsp://camera/live")
        #expect(url.resolve(control: "*", base: "rtsp://camera/live/") == "rtsp://camera/live/")
        #expect(url.resolve(control: "rtsp://10.0.0.1/a", base: nil) == "rtsp://10.0.0.1/a")
        #expect(url.resolve(control: "/t1", base: "rtsp://camera/live/") == "rtsp://camera/live/t1")
        let query = try RTSPURL(parsing: "rtsp://camera/cam?channel=1&subtype=0")
        #expect(
            query.resolve(control: "trackID=0", base: "rtsp://camera/cam?channel=1&subtype=0/")
                == "rtsp://camera/cam?channel=1&subtype=0/trackID=0")
    }

    @Test func `a base that repeats the login is used without it`() throws {
        let url = try RTSPURL(parsing: "rtsp://camera/live")
        #expect(
            url.resolve(control: "t", base: "rtsp://admin:geheim@camera/live/")
                == "rtsp://camera/live/t")
    }

    @Test func `a control with a line break cannot add a header`() throws {
        let url = try RTSPURL(parsing: "rtsp://camera/live")
        #expect(url.resolve(control: "a\r\nX: y", base: nil) == "rtsp://camera/live")
    }
}
