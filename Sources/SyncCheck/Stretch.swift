/// A part of a source whose pictures were coded by one clock: all of it, unless its agent's clock restarted.
struct Stretch {
    /// Clocks with a smaller difference are considered the same: two boots are closer only by chance. A larger
    /// alignment error is not measured: the sources are not compared.
    static let sameClockNanoseconds: Int64 = 10_000_000_000

    /// Maximum difference of two clocks' rates, parts per million: the agent's and the collector's.
    static let skewPPM: Int64 = 550

    /// The source's name; from the second clock on, followed by `#` and the clock's number.
    let name: String
    let source: ObservedSource
    let pictures: [Observations.Picture]
    let beeps: [Int64]
    let trace: Trace

    private init(
        name: String, source: ObservedSource, pictures: [Observations.Picture], beeps: [Int64]
    ) {
        self.name = name
        self.source = source
        self.pictures = pictures
        self.beeps = beeps
        trace = Trace(pictures, clock: source.clock)
    }

    /// A source, divided at steps of its coded clock.
    static func stretches(of source: ObservedSource) -> [Stretch] {
        let pictures = source.observations.pictures.sorted {
            $0.presentationNanoseconds < $1.presentationNanoseconds
        }
        var parts: [[Observations.Picture]] = [[]]
        for picture in pictures {
            if let last = parts[parts.count - 1].last {
                let step = (picture.codedNanoseconds - last.codedNanoseconds)
                    .subtractingReportingOverflow(
                        picture.presentationNanoseconds - last.presentationNanoseconds)
                if step.overflow || step.partialValue.magnitude > sameClockNanoseconds.magnitude {
                    parts.append([])
                }
            }
            parts[parts.count - 1].append(picture)
        }
        var rest = source.observations.beeps.sorted()[...]
        return parts.enumerated().map { index, part in
            let next = index + 1 < parts.count ? parts[index + 1].first : nil
            let end = next?.presentationNanoseconds ?? .max
            let beeps = Array(rest.prefix { $0 < end })
            rest = rest.dropFirst(beeps.count)
            return Stretch(
                name: index == 0 ? source.name : "\(source.name)#\(index + 1)", source: source,
                pictures: part, beeps: beeps)
        }
    }
}

// MARK: - Audio

extension Stretch {
    private static let second: Int64 = 1_000_000_000
    /// Maximum distance of a picture used to determine a beep's capture time, nanoseconds.
    private static let nearNanoseconds: Int64 = 1_000_000_000

    /// The delay of each beep after the picture of the whole second at which it was captured.
    var soundSkews: [Int64] {
        beeps.compactMap { beep in
            guard let clock = clock(at: beep) else { return nil }
            let (whole, rest) = clock.quotientAndRemainder(dividingBy: Self.second)
            let nearest = rest >= Self.second / 2 ? whole + 1 : whole
            // The clock at the beep, minus its value at the beep's capture.
            return clock - nearest * Self.second
        }
    }

    /// A packet of sound (1,024 frames at 48 kHz), rounded up.
    private static let packetNanoseconds: Int64 = 25_000_000

    /// Number of beeps whose delay is not explained. Sound and pictures of a source have the same clock, and each at most
    /// its error; without a recorded bound, pictures may have been moved to a grid, by up to their distance.
    var beepsBeyondBound: Int {
        let bound = source.bounds.range?.upperBound ?? 0
        let error: Int64 = bound > 0 ? min(bound, Self.second) * 2 : pictureDistance
        return soundSkews.count { $0.magnitude > (error + Self.packetNanoseconds).magnitude }
    }

    /// The median distance of two pictures.
    private var pictureDistance: Int64 {
        let distances = zip(pictures, pictures.dropFirst()).map {
            $1.presentationNanoseconds - $0.presentationNanoseconds
        }.sorted()
        return distances.isEmpty ? 0 : distances[distances.count / 2]
    }

    /// The source's clock at a presentation time, interpolated between its pictures.
    private func clock(at presentation: Int64) -> Int64? {
        let next = pictures.partitioningIndex { $0.presentationNanoseconds >= presentation }
        let after = next < pictures.count ? pictures[next] : nil
        let before = next > 0 ? pictures[next - 1] : nil
        func extended(_ picture: Observations.Picture) -> Int64? {
            let distance = presentation - picture.presentationNanoseconds
            return abs(distance) <= Self.nearNanoseconds
                ? picture.codedNanoseconds + distance : nil
        }
        guard let before else { return after.flatMap(extended) }
        guard let after else { return extended(before) }
        let length = after.presentationNanoseconds - before.presentationNanoseconds
        guard length <= Self.nearNanoseconds else { return extended(before) ?? extended(after) }
        let part = Double(presentation - before.presentationNanoseconds) / Double(length)
        return before.codedNanoseconds
            + Int64((part * Double(after.codedNanoseconds - before.codedNanoseconds)).rounded())
    }

    /// Beeps against whole seconds, counted from the first one; nil with fewer than two.
    var beepDrift: MeasuredSource.Drift? {
        guard let first = beeps.first, beeps.count > 1 else { return nil }
        let points = beeps.map { beep in
            let seconds = ((beep - first) + Self.second / 2) / Self.second
            return Line.Point(
                instant: seconds * Self.second, deviation: beep - seconds * Self.second)
        }
        return MeasuredSource.Drift(points)
    }
}

extension MeasuredSource.Drift {
    /// - Returns: nil without points.
    init?(_ points: [Line.Point]) {
        guard !points.isEmpty else { return nil }
        let line = Line(points)
        guard let residual = Spread(points.map { $0.deviation - line.deviation(at: $0.instant) })
        else { return nil }
        self.init(driftPPM: line.driftPPM, residual: residual)
    }
}
