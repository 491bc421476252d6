import Testing

@testable import AgentCore

struct `The status line of an agent` {
    private static let second: Int64 = 1_000_000_000

    private func progress(pictures: UInt64, turns: UInt64 = 0) -> AgentProgress {
        var progress = AgentProgress(source: "stage", endpoint: "tcp://server:5550")
        progress.pictures = pictures
        progress.soundPackets = pictures * 2
        progress.uplink.isConnected = true
        progress.turns = ["capture video 1": turns, "uplink": turns * 20]
        return progress
    }

    @Test func `states its rate and destination`() {
        var watch = ProgressWatch()
        #expect(
            watch.look(progress(pictures: 0), now: 0).line
                == "recording stage; sent to tcp://server:5550")
        #expect(
            watch.look(progress(pictures: 30, turns: 1), now: 2 * Self.second).line
                == "recording stage, 15 pictures/s; sent to tcp://server:5550")
        var late = progress(pictures: 60, turns: 2)
        late.uplink.keptBytes = 25_000_000
        late.lostSamples = 3
        #expect(
            watch.look(late, now: 4 * Self.second).line
                == "recording stage, 15 pictures/s; sending to tcp://server:5550, 25 MB kept on this "
                + "box; 3 samples lost so far")
    }

    @Test func `states what is missing, with the reason`() {
        var watch = ProgressWatch()
        _ = watch.look(progress(pictures: 10), now: 0)
        var gone = progress(pictures: 10)
        gone.soundPackets = 60
        gone.latestNote = "the camera is gone; waiting for it"
        gone.uplink.isConnected = false
        #expect(
            watch.look(gone, now: Self.second).line
                == "stage: no video (the camera is gone; waiting for it); not sent, 0 B kept on "
                + "this box: no answer from tcp://server:5550")
        gone.uplink.trouble = "the collector does not admit this box's key"
        gone.uplink.spoolTrouble = "no space left on device"
        gone.soundPackets = 60
        #expect(
            watch.look(gone, now: 2 * Self.second).line
                == "stage: no video, no audio (the camera is gone; waiting for it); not sent, "
                + "0 B kept on this box: the collector does not admit this box's key; kept in memory "
                + "only: no space left on device")
        gone.isPaused = true
        #expect(
            watch.look(gone, now: 3 * Self.second).line.hasPrefix(
                "stage: capture stopped by a command; "))
    }

    @Test func `reports a thread that hangs`() {
        var watch = ProgressWatch()
        let patience = ProgressWatch.patienceNanoseconds
        _ = watch.look(progress(pictures: 0), now: 0)
        var now: Int64 = 0
        for turn in 1...30 {
            now += Self.second
            #expect(watch.look(progress(pictures: 0, turns: UInt64(turn)), now: now).stalled == nil)
        }
        var hung = progress(pictures: 0, turns: 30)
        hung.turns["uplink"] = 10_000
        #expect(watch.look(hung, now: now + patience - 1).stalled == nil)
        hung.turns["uplink"] = 20_000
        let finding = watch.look(hung, now: now + patience)
        #expect(finding.stalled == "the thread \"capture video 1\" has been blocked for 20 s")
        #expect(finding.line == finding.stalled)
        // It was only slow; and a thread that has ended is no thread that hangs.
        hung.turns["capture video 1"] = 31
        #expect(watch.look(hung, now: now + patience + 1).stalled == nil)
        hung.turns["capture video 1"] = nil
        hung.turns["uplink"] = 30_000
        #expect(watch.look(hung, now: now + 3 * patience).stalled == nil)
    }
}
