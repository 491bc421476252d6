import TestMetrics
import Testing

@testable import Operations

@Suite struct MetricLintTests {
    @Test func `the collector's metrics follow the rules of promtool check metrics`() throws {
        let text = CollectorMetrics.text(
            .full, ageSeconds: 0.5, readiness: HealthAnswer(isWell: true, text: "well"),
            version: "1.2.3", process: .current())
        #expect(MetricLint.flaws(in: text) == [])
        #expect(text.contains("# TYPE tributary_disk_seconds_left gauge"))
    }

    @Test(arguments: [
        ("disk_days_left", "gauge", "Left.", "use seconds instead of days"),
        ("skew_ppm", "gauge", "Skew.", "use ratio instead of ppm"),
        ("age_milliseconds", "gauge", "Age.", "use seconds instead of milliseconds"),
        ("rate_kilobits", "gauge", "Rate.", "use bytes instead of kilobits"),
        ("age_ms", "gauge", "Age.", "abbreviates a unit: ms"),
        ("things", "counter", "Things.", "end with _total"),
        ("things_total", "gauge", "Things.", "end with _total"),
        ("things", "gauge", "", "has no help text"),
        ("things_count", "gauge", "Things.", "_count is for histograms"),
        ("things_gauge", "gauge", "Things.", "names its type"),
        ("newThings", "gauge", "Things.", "snake_case"),
    ])
    func `a broken rule is found`(name: String, kind: String, help: String, flaw: String) {
        let text = "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n\(name) 1\n"
        let flaws = MetricLint.flaws(in: text)
        #expect(flaws.count == 1 && flaws.first?.contains(flaw) == true, "\(flaws)")
    }

    @Test func `the histogram label belongs only to buckets`() {
        let text = "# HELP a A.\n# TYPE a gauge\na{le=\"1\"} 1\nb 2\n"
        #expect(
            MetricLint.flaws(in: text) == [
                "a: the label le is for histograms", "b has no type",
            ])
    }
}
