import Testing
import Wire

@testable import Control

struct `A source's status text` {
    private var status: CaptureStatus {
        var status = CaptureStatus()
        status.collector = "tcp://b:5550"
        status.isConnected = true
        return status
    }

    @Test func `names the collector`() {
        #expect(StatusText.placement(status) == ["sent to tcp://b:5550"])
        // An agent of an earlier version.
        #expect(StatusText.placement(CaptureStatus()) == [])
    }

    @Test func `does not say that anything is sent without a connection`() {
        var status = status
        status.isConnected = false
        #expect(StatusText.placement(status) == ["waiting for tcp://b:5550"])
    }

    @Test func `is one line with reason and next attempt if the source cannot be captured`() {
        var status = status
        #expect(StatusText.absence(status, of: "door") == nil)
        status.video = "rtsp://a/1"
        status.audio = "auto"
        status.trouble = "rtsp://a/1:\nConnection refused"
        status.retrySeconds = 4
        #expect(
            StatusText.absence(status, of: "door")
                == "door: not capturing: rtsp://a/1:\\u{a}Connection refused; next attempt in 4 s "
                + "(pictures: rtsp://a/1, sound: auto)")
        status.retrySeconds = nil
        #expect(StatusText.absence(status, of: "door")?.contains("next attempt") == false)
    }

    @Test func `has the reason and the next attempt while a camera is away`() {
        var status = status
        #expect(StatusText.state(status) == "stopped")
        status.isCapturing = true
        #expect(StatusText.state(status) == "capturing")
        status.trouble = "no video for 130 s: it is\ngone"
        status.retrySeconds = 2
        #expect(StatusText.absence(status, of: "door") == nil)
        #expect(
            StatusText.state(status)
                == "no video for 130 s: it is\\u{a}gone; next attempt in 2 s")
    }

    @Test func `has the reason of a move, and the records that the collector lacks`() {
        var status = status
        status.moved = "tcp://a:5550: nothing was heard of it for 3 s"
        status.owed = [OwedRecords(collector: "west", records: 120, bytes: 3_400_000)]
        #expect(
            StatusText.placement(status) == [
                "sent to tcp://b:5550; left tcp://a:5550: nothing was heard of it for 3 s",
                "3.4 MB (120 records) kept for west",
            ])
    }

    @Test func `names the second collector, and the time until the spool is full`() {
        var status = status
        status.second = .init(endpoint: "tcp://a:5550", isConnected: true)
        status.owed = [
            OwedRecords(collector: "west", records: 0, bytes: 0),
            OwedRecords(collector: "east", records: 5_000, bytes: 80_000_000),
        ]
        status.lastsSeconds = 5_400
        #expect(
            StatusText.placement(status) == [
                "sent to tcp://b:5550 and tcp://a:5550",
                "80 MB (5000 records) kept for east; the spool lasts for 90 min",
            ])
        status.second?.isConnected = false
        #expect(StatusText.placement(status)[0] == "sent to tcp://b:5550 and tcp://a:5550 (away)")
        status.second?.trouble = "no program\nlistens there"
        #expect(
            StatusText.placement(status)[0].hasSuffix(" (away: no program\\u{a}listens there)"))
    }
}
