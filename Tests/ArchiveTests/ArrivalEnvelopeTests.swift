import Media
import Testing
import Timing

@testable import Archive

/// The lower envelope of arrivals against timestamps.
@Suite struct ArrivalEnvelopeTests {
    private static let second: Int64 = 1_000_000_000
    private static let base: Int64 = 90_000 * second

    /// - Parameter arrival: by timestamp, nanoseconds.
    private func envelope(
        seconds: Int64, interval: Int64 = 40_000_000, _ arrival: (Int64) -> Int64
    ) -> ArrivalEnvelope {
        var envelope = ArrivalEnvelope(arrivalNanoseconds: Self.base + arrival(0))
        for media in stride(from: 0, to: seconds * Self.second, by: Int(interval)) {
            let time = Self.base + arrival(media)
            envelope.add(media: media, arrivalNanoseconds: time, time: time)
        }
        envelope.finish()
        return envelope
    }

    @Test func `late packets do not move the envelope of an even clock`() {
        // 200 ppm fast, every fourth packet quick.
        let found = envelope(seconds: 60) { media in
            media + media / 5_000 + (media / 40_000_000 % 4 == 0 ? 0 : 17_000_000)
        }
        #expect(found.fault == nil && found.seconds == (60, 0))
        for media in stride(from: 0, to: 59 * Self.second, by: 13_000_000) {
            let time = found.time(at: media) - Self.base
            // The wander within the distance of two quick packets, and rounding.
            #expect(abs(time - media - media / 5_000) <= 10, "\(media)")
            #expect(found.isUsable(at: media))
        }
    }

    /// A rate that changes as fast as the limits permit, for ten minutes.
    @Test func `a clock that wanders is never cut off`() {
        func captured(_ media: Int64) -> Int64 {
            let seconds = Double(media) * 1e-9
            // 50 parts per 10⁹ per second, and quick packets every 20 s.
            return media - Int64(25 * seconds * seconds)
        }
        let found = envelope(seconds: 600) { media in
            captured(media) + 1_000_000 + (media / 40_000_000 % 500 == 0 ? 0 : 9_000_000)
        }
        var greatest: Int64 = 0
        for media in stride(from: 0, to: 599 * Self.second, by: 170_000_000) {
            let time = found.time(at: media) - Self.base
            #expect(time >= captured(media), "\(media)")
            if found.isInside(media) { greatest = max(greatest, time - captured(media)) }
        }
        #expect(greatest < 1_020_000)
    }

    @Test func `after a stall, the later fast packets are used`() {
        // Nothing arrives for a second and a half at the beginning.
        let found = envelope(seconds: 30) { max($0, 1_500_000_000) + 5_000_000 }
        for media in [0, 400_000_000, 1_480_000_000] as [Int64] {
            let late = found.time(at: media) - Self.base - media - 5_000_000
            // The rates' limit of 500 ppm.
            #expect(late >= 0 && late <= 770_000, "\(media): \(late)")
        }
    }

    @Test func `one wrong arrival is not followed`() {
        let found = envelope(seconds: 60) { media in
            media + (media == 30 * Self.second ? -200_000_000 : 0)
        }
        for second in 15..<45 as Range<Int64> {
            #expect(!found.isUsable(at: second * Self.second), "\(second)")
        }
    }

    @Test func `a rate that is untrue is not followed`() {
        let found = envelope(seconds: 60) { $0 + $0 / 100 }
        #expect(found.seconds.distant > 50)
    }

    @Test func `a stretch that is short or was placed before its arrivals is not used`() {
        #expect(envelope(seconds: 9) { $0 }.fault == .short)
        #expect(envelope(seconds: 60, interval: 1_500_000_000) { $0 }.fault == .short)
        var delayed = ArrivalEnvelope(arrivalNanoseconds: 0)
        for picture in 0..<500 as Range<Int64> {
            let media = picture * 40_000_000
            delayed.add(media: media, arrivalNanoseconds: media, time: media - 600_000)
        }
        delayed.finish()
        #expect(delayed.fault == .delayed)
    }

    /// Fourteen hours at 30 pictures a second.
    @Test func `a million and a half samples need few corners`() {
        var random = UInt64(7)
        var envelope = ArrivalEnvelope(arrivalNanoseconds: Self.base)
        var most = 0
        for picture in 0..<1_500_000 as Range<Int64> {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let media = picture * 33_333_333
            let arrival = Self.base + media + media / 10_000 + Int64(random >> 40)
            envelope.add(media: media, arrivalNanoseconds: arrival, time: arrival)
            if picture % 10_000 == 0 { most = max(most, envelope.sizeOfState) }
        }
        envelope.finish()
        // Corners, and one value for each second.
        #expect(most < 60_000)
        #expect(envelope.fault == nil && envelope.seconds.distant == 0)
        let late = envelope.time(at: 25_000 * Self.second) - Self.base - 25_002_500_000_000
        #expect(late >= 0 && late < 400_000)
    }

    @Test func `no size traps`() {
        for arrivals in [[Int64.min, .max], [.max, .min], [0, .max], [1 << 62, -1 << 62]] {
            var envelope = ArrivalEnvelope(arrivalNanoseconds: arrivals[0])
            for index in 0..<100 as Range<Int64> {
                envelope.add(
                    media: index * 863_000_000_000, arrivalNanoseconds: arrivals[Int(index % 2)],
                    time: arrivals[Int((index + 1) % 2)])
            }
            envelope.finish()
            _ = envelope.time(at: 0)
            _ = envelope.time(at: 86_400_000_000_000)
            _ = envelope.isUsable(at: 86_400_000_000_000)
        }
    }
}

/// Stretches of one clock among timestamps.
@Suite struct StampSequenceTests {
    private static let epoch = EpochID(high: 1, low: 2)

    /// The stretches of samples, each with the distances of its timestamp and its arrival from the one before, milliseconds, and the
    /// packets since then.
    private func stretches(_ samples: [(media: Int64, arrival: Int64, packets: Int64)]) -> [Int] {
        var sequence = StampSequence()
        var stamp = CameraStamp(
            timestamp: .max - 20_000, arrivalNanoseconds: 5, arrivalSpanNanoseconds: 0,
            firstPacket: 9, packets: 2)
        var found: [Int] = []
        for _ in 0..<3 {
            found.append(sequence.locate(stamp, clockRate: 90_000, epoch: Self.epoch).stretch)
            stamp.timestamp &+= 3_600
            stamp.arrivalNanoseconds += 40_000_000
            stamp.firstPacket += 2
        }
        stamp.timestamp &-= 3_600
        stamp.arrivalNanoseconds -= 40_000_000
        stamp.firstPacket -= 2
        for sample in samples {
            stamp.timestamp &+= UInt32(truncatingIfNeeded: sample.media * 90)
            stamp.arrivalNanoseconds += sample.arrival * 1_000_000
            stamp.firstPacket += sample.packets
            found.append(sequence.locate(stamp, clockRate: 90_000, epoch: Self.epoch).stretch)
        }
        return Array(found.dropFirst(3))
    }

    @Test func `a wrap, jitter, losses and a burst do not end a stretch`() {
        #expect(
            stretches([
                (40, 3, 2), (40, 140, 2), (40, 0, 2), (40, 0, 2), (120, 60, 6), (40, 65, 2),
                (40, 40, 2),
            ]) == [0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `a lower picture rate does not end a stretch`() {
        #expect(stretches([(80, 83, 2), (80, 40, 2), (80, 130, 2)]) == [0, 0, 0])
    }

    @Test(arguments: [
        (340, 40, 2), (-60, 40, 2), (0, 40, 2), (3_600_000, 40, 2), (1_040, 40, 2), (1_040, 40, 4),
        (40, 3_000, 2), (3_000, 3_000, 2), (40, 40, -5), (40, 40, 200_000),
    ])
    func `a clock that is set, a pause and a new connection end a stretch`(
        media: Int, arrival: Int, packets: Int
    ) {
        #expect(
            stretches([(Int64(media), Int64(arrival), Int64(packets)), (40, 40, 2)]) == [1, 1])
    }

    @Test func `another epoch, another rate and samples without timestamps end a stretch`() {
        var sequence = StampSequence()
        func locate(_ rate: UInt32, _ epoch: EpochID) -> Int {
            defer { stamp.timestamp &+= 3_600 }
            return sequence.locate(stamp, clockRate: rate, epoch: epoch).stretch
        }
        var stamp = CameraStamp(
            timestamp: 0, arrivalNanoseconds: 0, arrivalSpanNanoseconds: 0, firstPacket: 0,
            packets: 9)
        #expect(locate(90_000, Self.epoch) == 0)
        stamp.arrivalNanoseconds += 40_000_000
        #expect(locate(90_000, Self.epoch) == 0)
        #expect(locate(90_000, EpochID(high: 3, low: 3)) == 1)
        #expect(locate(48_000, EpochID(high: 3, low: 3)) == 2)
        sequence.interrupt()
        #expect(locate(48_000, EpochID(high: 3, low: 3)) == 3)
    }
}

/// Times between the agent's and the envelope.
@Suite struct CameraSlewTests {
    private static let epoch = EpochID(high: 1, low: 2)

    private func place(_ agent: Int64, _ envelope: Int64?, isUsable: Bool = true)
        -> CameraSlew.Position
    {
        CameraSlew.Position(
            epoch: Self.epoch, agent: agent, stretch: 0, envelope: envelope, isUsable: isUsable)
    }

    private func times(_ places: [CameraSlew.Position]) -> [Int64] {
        let ranges = CameraSlew.reachable(places, following: nil)
        var slew = CameraSlew()
        return zip(places, ranges).map { slew.choose($0, in: $1) }
    }

    /// Random walks of both clocks, with usable parts, in whole and file by file.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `times are between both and so are their distances`(seed: UInt64) {
        var random = seed
        func number(_ range: ClosedRange<Int64>) -> Int64 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return range.lowerBound + Int64(random >> 33)
                % (range.upperBound - range.lowerBound + 1)
        }
        var places: [CameraSlew.Position] = []
        var agent: Int64 = 0
        var envelope: Int64 = 0
        var isUsable = true
        for index in 0..<400 {
            if number(0...40) == 0 { isUsable.toggle() }
            if number(0...90) == 0 { envelope = agent + number(-60_000_000...60_000_000) }
            var place = place(agent, number(0...99) == 0 ? nil : envelope, isUsable: isUsable)
            place.stretch = index / 150
            if index % 100 == 0 { place.earliest = agent - number(0...9_000_000) }
            places.append(place)
            envelope += 40_000_000 + number(-8_000...8_000)
            agent += number(0...9) == 0 ? number(1_000...90_000_000) : 40_000_000
        }
        let all = times(places)
        for (place, time) in zip(places, all) {
            #expect(place.window.contains(time))
            if !place.isUsable || place.envelope == nil { #expect(time == place.agent) }
            #expect(time >= place.earliest)
        }
        for index in 1..<places.count {
            let distances = CameraSlew.distances(places[index - 1], places[index])
            #expect(distances?.contains(all[index] - all[index - 1]) == true, "\(index)")
            #expect(all[index] > all[index - 1])
        }
        // In parts of a hundred, as files are.
        var following: (place: CameraSlew.Position, times: ClosedRange<Int64>)?
        var followings: [(place: CameraSlew.Position, times: ClosedRange<Int64>)?] = []
        for part in [300, 200, 100, 0] {
            followings.insert(following, at: 0)
            let own = Array(places[part..<part + 100])
            following = (own[0], CameraSlew.reachable(own, following: following)[0])
        }
        var slew = CameraSlew()
        var parts: [Int64] = []
        for (index, following) in followings.enumerated() {
            let own = Array(places[index * 100..<index * 100 + 100])
            for (place, range) in zip(own, CameraSlew.reachable(own, following: following)) {
                #expect(slew.time(of: place, in: range) == slew.choose(place, in: range))
                if let last = slew.last { parts.append(last.time) }
            }
        }
        #expect(parts == all)
    }

    @Test func `a step of the agent's times is removed, and a remaining difference is slewed`() {
        // Late by 20 ms until a quick packet arrives.
        let late = (0..<100 as Range<Int64>).map {
            place($0 * 40_000_000 + ($0 < 50 ? 20_000_000 : 0), $0 * 40_000_000)
        }
        #expect(times(late) == late.map { $0.envelope ?? 0 })
        // The first one cannot be earlier, and no distance of the agent's differs: 250 ppm.
        var fixed = (0..<100 as Range<Int64>).map {
            place($0 * 40_000_000, $0 * 40_000_000 - 900_000)
        }
        fixed[0].earliest = 0
        let slewed = times(fixed)
        for (index, time) in slewed.enumerated() {
            #expect(time == max(fixed[index].envelope ?? 0, Int64(index) * (40_000_000 - 10_000)))
        }
    }

    @Test func `a difference that no network explains is left`() {
        let far = (0..<100 as Range<Int64>).map {
            place($0 * 40_000_000, $0 * 40_000_000 - 500_000_001)
        }
        #expect(times(far) == far.map(\.agent))
    }

    @Test func `no size traps`() {
        let sizes: [Int64] = [.min, .min + 1, -1, 0, 1, 1 << 62, .max - 1, .max]
        for agent in sizes {
            for envelope in sizes {
                for next in sizes {
                    _ = times([place(agent, envelope), place(next, agent), place(envelope, next)])
                }
            }
        }
    }
}
