import Catalog
import Media
import Operations
import Wire

/// The statuses of a site's collectors as one: each source at the collector that has it, and the collectors themselves.
struct SiteStatus: Sendable {
    /// A collector that has not sent its status for this long is silent.
    static let silenceNanoseconds: Int64 = 3_000_000_000

    private struct Heard {
        /// Nil: it is of another version.
        var view: SiteView?
        /// Monotonic, nanoseconds.
        var nanoseconds: Int64
    }

    /// A collector's last report in the catalog.
    private struct Reported {
        var report: SiteReport
        /// Age of the report when the catalog answered; nil: it is known from an earlier run alone.
        var ageSeconds: Double?
    }

    private var heard: [String: Heard] = [:]
    private var reported: [String: Reported] = [:]
    /// The catalog's last answer. Monotonic, nanoseconds.
    private var answeredNanoseconds: Int64 = 0

    /// Takes the reports in the catalog; a collector that is not among them is forgotten.
    /// - Parameter now: monotonic, nanoseconds.
    mutating func note(_ collectors: [SiteCollector], now: Int64) {
        reported = [:]
        answeredNanoseconds = now
        for collector in collectors {
            guard let report = collector.report, reported[collector.name] == nil else { continue }
            reported[collector.name] = Reported(
                report: report,
                ageSeconds: collector.heardSeconds.isFinite ? collector.heardSeconds : nil)
        }
        heard = heard.filter { reported[$0.key] != nil }
    }

    /// Takes a collector's status (`proto/json/schema.json`, "tributary top").
    /// - Parameter now: monotonic, nanoseconds.
    mutating func take(_ json: [UInt8], from collector: String, now: Int64) {
        do {
            var view = try SiteView(decoding: json)
            view.sources.removeAll { !SourceName.isValid($0.name) }
            if view.sources.count > LiveHub.maximumSourcesOfFeed {
                view.sources.removeSubrange(LiveHub.maximumSourcesOfFeed...)
            }
            heard[collector] = Heard(view: view, nanoseconds: now)
        } catch {
            heard[collector] = Heard(view: nil, nanoseconds: now)
        }
    }

    /// The collector that a source is connected to, by the last statuses.
    func collector(of source: String) -> String? {
        let known = heard.filter { _, heard in
            heard.view?.sources.contains { $0.name == source && $0.isConnected } ?? false
        }
        return known.max { ($0.value.nanoseconds, $1.key) < ($1.value.nanoseconds, $0.key) }?.key
    }

    /// The collectors that record a session, by the last statuses.
    func collectors(recording session: String) -> [String] {
        heard.filter { $0.value.view?.session == session }.keys.sorted()
    }

    /// The status of the site.
    /// - Parameters:
    ///   - now: monotonic, nanoseconds.
    ///   - feed: the collector whose pictures of a source are distributed; nil: none is heard.
    /// - Returns: nil: no collector is heard.
    func view(now: Int64, feed: (String) -> String?) -> SiteView? {
        let present = heard.filter { now - $0.value.nanoseconds <= Self.silenceNanoseconds }
        let views = present.compactMapValues(\.view).sorted { $0.key < $1.key }
        guard let worst = views.max(by: { $0.value.disk.isBetter(than: $1.value.disk) }) else {
            return nil
        }
        var view = worst.value
        view.version = Set(views.map(\.value.version)).sorted().joined(separator: ", ")
        view.isReady = views.allSatisfy(\.value.isReady)
        // The state is in each of ``SiteView/collectors``.
        view.isDraining = nil
        view.progressAgeSeconds = views.compactMap(\.value.progressAgeSeconds).max()
        let longest = views.max {
            $0.value.sessionSeconds ?? -1 < $1.value.sessionSeconds ?? -1
        }
        view.session = longest?.value.session
        view.sessionSeconds = longest?.value.sessionSeconds
        view.residentBytes = views.compactMap(\.value.residentBytes).reduce(0, +)
        view.refusedConnections = views.reduce(0) { $0 + $1.value.refusedConnections }
        view.refusals = nil
        view.store = views.compactMap(\.value.store).max {
            ($0.trouble == nil ? 0 : 1, $0.oldestSeconds)
                < ($1.trouble == nil ? 0 : 1, $1.oldestSeconds)
        }
        view.clocks = nil
        view.omittedSources = views.reduce(0) { $0 + $1.value.omittedSources }
        view.sources = sources(now, present: Set(views.map(\.key)), feed)
        view.collectors = collectors(now)
        return view
    }

    /// Each source once, with the status from the collector that has it.
    private func sources(
        _ now: Int64, present: Set<String>, _ feed: (String) -> String?
    ) -> [SiteView.Source] {
        var found: [String: SiteView.Source] = [:]
        for (collector, heard) in heard.sorted(by: { $0.key < $1.key }) {
            for var source in heard.view?.sources ?? [] {
                source.collector = collector
                if !present.contains(collector) {
                    // The source was connected at the collector's last status.
                    source.isConnected = false
                    source.persistedAgeSeconds += Double(max(0, now - heard.nanoseconds)) / 1e9
                }
                guard let other = found[source.name] else {
                    found[source.name] = source
                    continue
                }
                let held = feed(source.name)
                func rank(_ source: SiteView.Source) -> (Int, Int, Double) {
                    (
                        source.isConnected ? 2 : source.isRecorded ? 1 : 0,
                        source.collector == held ? 2 : source.elsewhere == nil ? 1 : 0,
                        -source.persistedAgeSeconds
                    )
                }
                if rank(source) > rank(other) { found[source.name] = source }
            }
        }
        return found.values.sorted { $0.name < $1.name }
    }

    private func collectors(_ now: Int64) -> [SiteView.Collector] {
        Set(heard.keys).union(reported.keys).sorted().map { name in
            let report = reported[name]
            guard let heard = heard[name] else {
                return unheard(name, report, secondsSinceAnswer: seconds(now, answeredNanoseconds))
            }
            let isPresent = now - heard.nanoseconds <= Self.silenceNanoseconds
            let view = heard.view
            return SiteView.Collector(
                name: name,
                state: Self.state(view, report?.report, isPresent: isPresent),
                heardSeconds: seconds(now, heard.nanoseconds),
                trouble: isPresent ? view?.trouble : nil,
                version: view?.version ?? report?.report.version ?? "",
                sources: isPresent
                    ? Double(view?.sources.count { $0.isConnected } ?? 0) : 0,
                bitsPerSecond: isPresent
                    ? view?.sources.reduce(0) { $0 + ($1.isConnected ? $1.bitsPerSecond : 0) } ?? 0
                    : 0,
                freeBytes: view?.disk.freeBytes, sizeBytes: view?.disk.sizeBytes)
        }
    }

    private func seconds(_ now: Int64, _ nanoseconds: Int64) -> Double {
        Double(max(0, now - nanoseconds)) / 1e9
    }

    /// A collector without a received feed, from its report in the catalog.
    private func unheard(
        _ name: String, _ reported: Reported?, secondsSinceAnswer: Double
    ) -> SiteView.Collector {
        let state = Self.state(reported, secondsSinceAnswer: secondsSinceAnswer)
        let report = reported?.report
        let isPresent =
            switch state {
            case .recording, .idle, .draining, .troubled: true
            case .stopped, .silent, .unknown: false
            }
        return SiteView.Collector(
            name: name, state: state,
            heardSeconds: reported?.ageSeconds.map { $0 + secondsSinceAnswer },
            trouble: isPresent ? report?.trouble : nil, version: report?.version ?? "",
            sources: isPresent ? Double(report?.sources ?? 0) : 0,
            bitsPerSecond: isPresent ? report?.bitsPerSecond ?? 0 : 0,
            freeBytes: report?.freeBytes.map(Double.init),
            sizeBytes: report?.sizeBytes.map(Double.init))
    }

    /// By the last report. While the catalog does not answer, nothing is known of a collector that reported before.
    private static func state(
        _ reported: Reported?, secondsSinceAnswer: Double
    ) -> SiteView.Collector.State {
        guard let reported else { return .unknown }
        let report = reported.report
        if report.isStopped { return .stopped }
        guard let age = reported.ageSeconds else { return .unknown }
        if age > SiteCollector.silenceSeconds { return .silent }
        if secondsSinceAnswer > SiteCollector.silenceSeconds { return .unknown }
        if report.trouble != nil { return .troubled }
        if report.isDraining { return .draining }
        return report.session == nil ? .idle : .recording
    }

    private static func state(
        _ view: SiteView?, _ report: SiteReport?, isPresent: Bool
    ) -> SiteView.Collector.State {
        guard isPresent else { return report?.isStopped == true ? .stopped : .silent }
        guard let view else { return .unknown }
        if !view.isReady { return .troubled }
        if view.isDraining == true || report?.isDraining == true { return .draining }
        return view.session == nil ? .idle : .recording
    }
}

extension SiteView.Disk {
    /// Files that cannot be written count most, then the free share.
    fileprivate func isBetter(than other: SiteView.Disk) -> Bool {
        func rank(_ disk: SiteView.Disk) -> (Double, Double, Double) {
            (
                disk.filesWithoutRoom + disk.stuckFiles,
                disk.busySeconds > 5 ? disk.busySeconds : 0,
                1 - (disk.freeBytes ?? 1) / max(1, disk.sizeBytes ?? 1)
            )
        }
        return rank(self) < rank(other)
    }
}
