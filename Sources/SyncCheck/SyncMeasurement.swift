/// Measures sources against the timeline that they share, and against each other.
///
/// A picture has a capture time by its source's clock, in its code, and a presentation time. In a perfect recording
/// their difference is the same for all pictures of all sources with the same clock: minus that clock's time at the
/// session's zero. Every error is a difference between two such differences, so zero itself need not be known, and no
/// clock data of the recorder is used.
package struct SyncMeasurement {
    private let stretches: [Stretch]
    private let limitNanoseconds: Int64?
    /// Indices into ``stretches``, grouped by clock.
    private let groups: [[Int]]

    /// - Parameter limitNanoseconds: the largest accepted error; nil: any.
    package static func measure(
        _ sources: [ObservedSource], limitNanoseconds: Int64? = nil
    ) -> SyncReport {
        SyncMeasurement(sources, limitNanoseconds: limitNanoseconds).report()
    }

    private init(_ sources: [ObservedSource], limitNanoseconds: Int64?) {
        let stretches = sources.flatMap(Stretch.stretches)
        self.stretches = stretches
        self.limitNanoseconds = limitNanoseconds
        groups = Self.groups(stretches)
    }

    /// Groups sources by the clock that coded their pictures: in a group, median deviations are close to each other.
    private static func groups(_ stretches: [Stretch]) -> [[Int]] {
        let deviations = stretches.indices.filter { !stretches[$0].trace.points.isEmpty }
            .map { (index: $0, deviation: stretches[$0].trace.medianDeviation) }
            .sorted { $0.deviation < $1.deviation }
        var groups: [[Int]] = []
        var last: Int64?
        for (index, deviation) in deviations {
            if let last, deviation - last <= Stretch.sameClockNanoseconds {
                groups[groups.count - 1].append(index)
            } else {
                groups.append([index])
            }
            last = deviation
        }
        return groups.map { $0.sorted() }.sorted { $0[0] < $1[0] }
    }

    private func report() -> SyncReport {
        var sources = stretches.map(source)
        var pairs: [MeasuredPair] = []
        for (number, group) in groups.enumerated() {
            let timeline = sharedTimeline(group)
            for index in group {
                let errors = stretches[index].trace.points.map {
                    $0.deviation - timeline.deviation(at: $0.reference)
                }
                sources[index].clock = number + 1
                sources[index].error = Spread(errors)
                sources[index].picturesBeyondBound = picturesBeyondBound(index, errors, group)
            }
            for (place, first) in group.enumerated() {
                for second in group[(place + 1)...] {
                    if let pair = pair(stretches[first], stretches[second]) { pairs.append(pair) }
                }
            }
        }
        var report = SyncReport(
            sources: sources, pairs: pairs, limitNanoseconds: limitNanoseconds, failures: [],
            notes: [])
        report.worstNanoseconds = worst(report)
        judge(&report)
        // Up to here, the sources are in the order of the stretches.
        report.sources = zip(report.sources, stretches).filter { !Self.isWithoutPattern($1) }
            .map(\.0)
        return report
    }

    private func source(_ stretch: Stretch) -> MeasuredSource {
        let own = stretch.pictures.map {
            Line.Point(
                instant: $0.codedNanoseconds,
                deviation: $0.presentationNanoseconds - $0.codedNanoseconds)
        }
        return MeasuredSource(
            name: stretch.name, files: stretch.source.files, pictures: stretch.pictures.count,
            unreadablePictures: stretch.source.observations.unreadablePictures,
            beeps: stretch.beeps.count, beepsBeyondBound: stretch.beepsBeyondBound,
            deviationNanoseconds: stretch.trace.points.first?.deviation,
            pictureDrift: MeasuredSource.Drift(own), beepDrift: stretch.beepDrift,
            soundSkew: Spread(stretch.soundSkews),
            recordedBoundNanoseconds: stretch.source.bounds.range.map {
                [$0.lowerBound, $0.upperBound]
            })
    }

    /// Number of pictures that are farther from the shared timeline than the recordings allow; nil if a source of the clock
    /// states no bound.
    ///
    /// The line follows errors up to the largest bound, and the clocks' rates may change while it is straight.
    private func picturesBeyondBound(_ index: Int, _ errors: [Int64], _ group: [Int]) -> Int? {
        let largest = group.map { stretches[$0].source.bounds.range?.upperBound ?? 0 }
        let points = group.flatMap { stretches[$0].trace.points }.map(\.reference)
        guard largest.allSatisfy({ $0 > 0 }), let line = largest.max(), let first = points.min(),
            let last = points.max()
        else { return nil }
        let bend = (last - first) / 1_000_000 * Stretch.skewPPM / 2
        return zip(stretches[index].trace.points, errors).count { point, error in
            let own = stretches[index].source.bounds.bound(at: point.presentation) ?? 0
            let sum = own.addingReportingOverflow(line)
            let allowed = sum.overflow ? .max : sum.partialValue
            return error.magnitude > allowed.magnitude + bend.magnitude
        }
    }

    /// The regression line of all sources of a clock, each with the same weight.
    ///
    /// A slope is the skew of the reference or of the session, and the same for all sources.
    private func sharedTimeline(_ group: [Int]) -> Line {
        Line(
            group.flatMap { index in
                let points = stretches[index].trace.points
                return points.map {
                    Line.Point(
                        instant: $0.reference, deviation: $0.deviation,
                        weight: 1 / Double(points.count))
                }
            })
    }

    /// Nil when the two never recorded simultaneously.
    private func pair(_ first: Stretch, _ second: Stretch) -> MeasuredPair? {
        var errors: [Int64] = []
        var beyond = 0
        var largest: Int64?
        for point in first.trace.points {
            guard let (before, after) = second.trace.neighbours(of: point.reference) else {
                continue
            }
            let error =
                point.deviation
                - Trace.deviation(at: point.reference, between: before, and: after)
            errors.append(error)
            // An interpolated time is as far off as the worse one of the two.
            let others = [before, after].compactMap {
                second.source.bounds.bound(at: $0.presentation)
            }
            if let bound = first.source.bounds.bound(at: point.presentation),
                let otherBound = others.max()
            {
                let sum = bound.addingReportingOverflow(otherBound)
                let allowed = sum.overflow ? .max : sum.partialValue
                largest = max(largest ?? 0, allowed)
                if error.magnitude > allowed.magnitude { beyond += 1 }
            }
        }
        guard let alignment = Spread(errors) else { return nil }
        return MeasuredPair(
            first: first.name, second: second.name, alignment: alignment,
            driftPPM: first.trace.line.driftPPM - second.trace.line.driftPPM,
            recordedBoundNanoseconds: largest,
            picturesBeyondBound: largest == nil ? nil : beyond)
    }
}

// MARK: - The verdict

extension SyncMeasurement {
    private func worst(_ report: SyncReport) -> Int64? {
        let alone = groups.filter { $0.count == 1 }
            .compactMap { report.sources[$0[0]].error?.worstNanoseconds }
        let between = report.pairs.map(\.alignment.worstNanoseconds)
        let sound = report.sources.compactMap(\.soundSkew?.worstNanoseconds)
        return (alone + between + sound).max()
    }

    private static func isWithoutPattern(_ stretch: Stretch) -> Bool {
        stretch.pictures.isEmpty && stretch.beeps.count < 2
    }

    private func judge(_ report: inout SyncReport) {
        let skipped = stretches.filter(Self.isWithoutPattern).map(\.name)
        report.skippedSources = skipped
        for name in skipped {
            if skipped.count < stretches.count {
                report.notes.append(
                    "\(name) is left out: it has no readable time codes or beeps, so it is not the test pattern"
                )
            } else {
                report.failures.append(
                    "\(name): no readable time codes or beeps; only recordings of the test "
                        + "pattern can be measured")
            }
        }
        for source in report.sources where source.unreadablePictures > 0 && source.pictures > 0 {
            report.notes.append(
                "\(source.name): \(source.unreadablePictures) pictures without a readable time code"
            )
        }
        for source in stretches.map(\.source) where source.observations.damagedPackets > 0 {
            report.notes.append(
                "\(source.name): the decoder refused \(source.observations.damagedPackets) packets")
        }
        for source in report.sources {
            if let beyond = source.picturesBeyondBound, beyond > 0 {
                report.failures.append(
                    "\(source.name): \(beyond) of \(source.pictures) pictures are farther from the common timeline "
                        + "than the recorded clock bounds allow")
            }
            if source.beepsBeyondBound > 0, let skew = source.soundSkew {
                report.failures.append(
                    "\(source.name): the sound of \(source.beepsBeyondBound) of \(skew.count) beeps is not with its pictures: "
                        + "\(NanosecondText(skew.minNanoseconds)) to \(NanosecondText(skew.maxNanoseconds))"
                )
            }
        }
        for pair in report.pairs {
            guard let beyond = pair.picturesBeyondBound, beyond > 0 else { continue }
            report.failures.append(
                "\(pair.first) and \(pair.second): the error of \(beyond) pictures exceeds the "
                    + "recorded clock bounds")
        }
        if groups.count > 1 {
            let names = groups.map { $0.map { stretches[$0].name }.joined(separator: ", ") }
            let text =
                "the time codes come from \(groups.count) clocks (\(names.joined(separator: " | "))): sources with "
                + "different clocks are not compared; give their offsets with --clock"
            if limitNanoseconds == nil {
                report.notes.append(text)
            } else {
                report.failures.append(text)
            }
        }
        if let limit = limitNanoseconds, let worst = report.worstNanoseconds, worst > limit {
            report.failures.append(
                "the largest error is \(NanosecondText(worst)), more than the \(NanosecondText(limit)) allowed"
            )
        }
    }
}

/// A short duration: `0.012 ms`.
package struct NanosecondText: CustomStringConvertible {
    package let description: String

    package init(_ nanoseconds: Int64) {
        let thousandths = (nanoseconds.magnitude + 500) / 1_000
        let rest = String(thousandths % 1_000 + 1_000).dropFirst()
        let sign = nanoseconds < 0 && thousandths > 0 ? "-" : ""
        description = "\(sign)\(thousandths / 1_000).\(rest) ms"
    }
}
