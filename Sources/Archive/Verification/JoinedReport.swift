import Files
import Media

extension SessionReport {
    /// Joins the reports of several archives about one session: copies are counted as copies, and records in one archive are not
    /// missing in another.
    /// - Parameters:
    ///   - reports: one per archive, verified together with the others.
    ///   - archives: the archives in the same order; the numbers of their records are filled in.
    ///   - manifest: the merged description of the session.
    ///   - folder: a source's folder in one of the archives, for messages.
    ///   - ledgers: each source's lines of all archives, without duplicates.
    ///   - lines: each source's lines of all archives.
    ///   - collectors: names of the archives' collectors, whose records must be present.
    ///   - otherSessions: a source's records in other sessions of these archives, by spool. Read only where a collector
    ///     lacks records that it has acknowledged: with `--release mirrored`, its lost archive's second copy may be in
    ///     another session.
    package static func joined(
        _ reports: [SessionReport], _ archives: [Part], _ manifest: SessionManifest,
        ledgers: [String: [LedgerEntry]], lines: [String: [LedgerEntry]],
        collectors: Set<String>, folder: (_ archive: Int, _ source: String) -> String,
        otherSessions: (_ source: String, _ spools: Set<String>) throws(ArchiveError)
            -> [String: SequenceSet]
    ) throws(ArchiveError) -> SessionReport {
        var joined = SessionReport(
            session: manifest.session, zero: manifest.zero, state: manifest.state.rawValue,
            archives: archives, sources: [], findings: reports.flatMap(\.findings))
        for (place, report) in reports.enumerated() {
            joined.archives?[place].recordedSamples =
                report.sources.lazy.map(\.recordedSamples).clampedSum
        }
        for name in Set(reports.flatMap(\.sources).map(\.name)).sorted() {
            let own = reports.flatMap(\.sources).filter { $0.name == name }
            var (numbers, recorded, copies) = SourceNumbers.joined(own.map(\.numbers))
            let holed = Set(numbers.holes.filter { !$0.ranges.isEmpty }.map(\.spool))
            // A source may have been recorded in a session of another archive in the meantime.
            if !holed.isEmpty { numbers.explainHoles(by: try otherSessions(name, holed)) }
            // Of records that no archive has: the only one whose collector has acknowledged them, or the session.
            let place = "\(manifest.session)/\(name)"
            func owner(_ isOwner: (Int) -> Bool) -> String {
                let owners = reports.indices.filter(isOwner)
                return owners.count == 1 ? folder(owners[0], name) : place
            }
            // The rest of a source may arrive at a collector that is still recording, if no finished archive has the source.
            let isOpen = reports.allSatisfy { report in
                report.state == SessionManifest.State.recording.rawValue
                    || !report.sources.contains { $0.name == name }
            }
            joined.findings += numbers.holeFindings(
                isFinished: manifest.state == .finished && !isOpen
            ) { spool, hole in
                owner { archive in
                    reports[archive].sources.contains {
                        $0.name == name && $0.numbers.expects(hole, spool: spool)
                    }
                }
            }
            var held = HeldRecords.all(lines[name] ?? [], recorded: numbers.media)
            let absent = Set(held.filter { collectors.contains($0.collector) }.map(\.spool))
            if !absent.isEmpty {
                var recorded = numbers.media
                for (spool, own) in try otherSessions(name, absent) {
                    recorded[spool, default: SequenceSet()].formUnion(own)
                }
                held = HeldRecords.all(lines[name] ?? [], recorded: recorded)
            }
            // The collector's archive was read, and does not have these records.
            for missing in held where collectors.contains(missing.collector) {
                joined.findings.append(
                    Finding(
                        .damage, owner { archives[$0].name == missing.collector },
                        "\(missing.records) records that \(missing.collector) has acknowledged are not in its archive "
                            + "(spool \(missing.spool.prefix(8)), from number \(missing.ranges.first?.first ?? 0))"
                    ))
            }
            let away = held.filter { !collectors.contains($0.collector) }
            let gaps = (ledgers[name] ?? []).filter { $0.kind == .gap }
            let removed = RemovedFiles.all(
                ledgers[name] ?? [],
                present: own.flatMap(\.files).compactMap {
                    SegmentName(Path.name(of: $0.path))?.origin
                }, recorded: numbers.media, zero: manifest.zeroTime)
            joined.sources.append(
                Source(
                    name: name, files: own.flatMap(\.files), recordedSamples: recorded,
                    lostSamples: gaps.lazy.compactMap(\.samples).clampedSum,
                    missingNanoseconds: MissingTime.nanoseconds(gaps), gaps: gaps,
                    removed: removed.isEmpty ? nil : removed,
                    clock: ClockSummary(joining: own.map(\.clock)),
                    isComplete: own.contains(where: \.isComplete),
                    held: away.isEmpty ? nil : away, copies: copies, numbers: numbers))
        }
        return joined
    }
}

extension SessionReport {
    /// Findings about sources of a session's description that have no recording. A source that could not be read has a finding.
    package static func absenceFindings(
        _ absent: [String], besides findings: [Finding], _ path: (String) -> String
    ) -> [Finding] {
        absent.map(path).filter { path in !findings.contains { $0.path == path } }.map {
            Finding(.damage, $0, "the session's source has no recording")
        }
    }
}

extension ClockSummary {
    /// The clocks as several archives have measured them: each by its own collector's clock.
    fileprivate init(joining summaries: [ClockSummary]) {
        self.init([], [])
        for summary in summaries {
            epochs += summary.epochs
            discontinuities += summary.discontinuities
            rejectedExchanges.addClamped(summary.rejectedExchanges)
            outlyingExchanges.addClamped(summary.outlyingExchanges)
            if let own = summary.stated { stated = (stated ?? []) + own }
        }
    }
}
