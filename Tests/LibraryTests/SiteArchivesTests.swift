import Catalog
import Library
import ObjectStore
import Testing

/// Where the archives of a site are read.
@Suite struct SiteArchivesTests {
    private func collector(
        _ name: String, store: String? = nil, endpoint: String? = nil, viewer: String? = nil
    ) -> SiteCollector {
        var report = SiteReport(
            name: name, version: "0.1.0", machine: "\(name).example", listen: "",
            archive: "/srv/\(name)", store: store, release: "local")
        report.storeEndpoint = endpoint
        report.viewer = viewer
        return SiteCollector(
            archive: "id-\(name)", name: name, heardSeconds: 1, runningSeconds: 1, report: report)
    }

    private func archives(
        _ collectors: [SiteCollector], endpoint: String? = nil, here: Set<String> = [],
        readsViewers: Bool = false
    ) -> SiteArchives {
        SiteArchives(collectors, endpoint: endpoint, readsViewers: readsViewers) { path in
            let name = String(path.dropFirst(5))
            return here.contains(name) ? "id-\(name)" : nil
        }
    }

    @Test func `an archive is read in its directory, otherwise in its store`() {
        let found = archives(
            [
                collector("east"), collector("west", store: "s3://site/west"),
                collector("yard", store: "s3://site/yard"), collector("hall"),
            ], here: ["east", "yard"])
        #expect(
            found.places == [
                .directory("/srv/east", bucket: nil), .bucket("s3://site/west"),
                .directory("/srv/yard", bucket: "s3://site/yard"),
            ])
        #expect(
            found.problems == [
                "hall: its archive is on hall.example in /srv/hall, and in no object store; it is left out"
            ])
    }

    @Test func `an archive on this machine that may not be read is not called another machine's`() {
        let found = SiteArchives(
            [collector("east")], endpoint: nil, identity: { _ in nil }, isForbidden: { _ in true })
        #expect(found.places.isEmpty)
        #expect(
            found.problems == [
                "east: the archive /srv/east may not be read: permission denied; it is left out: "
                    + "run this as a user with read access to it"
            ])
    }

    @Test func `a directory of the same path with another archive is not read`() {
        let found = SiteArchives([collector("east")], endpoint: nil) { _ in "id-other" }
        #expect(found.places == [])
        #expect(found.problems.count == 1)
    }

    @Test func `a report does not determine the host of a store`() {
        let site = [collector("east", store: "s3://site/east", endpoint: "http://evil.example")]
        let found = archives(site)
        #expect(found.places == [])
        #expect(
            found.problems == [
                "east: its archive in s3://site/east is left out: give --store-endpoint http://evil.example"
            ])
        #expect(
            archives(site, endpoint: "http://evil.example").places == [.bucket("s3://site/east")])
        let amazon = [collector("east", store: "s3://site/east")]
        #expect(archives(amazon, endpoint: "http://store.example").places == [])
        // Local files are read in any case.
        let here = archives(site, here: ["east"])
        #expect(here.places == [.directory("/srv/east", bucket: nil)])
        #expect(here.problems.count == 1)
    }

    @Test func `a bucket of two collectors is read once, an unreadable report is reported`() {
        var unknown = collector("hall")
        unknown.report = nil
        let found = archives([
            collector("east", store: "s3://site/all"), collector("west", store: "s3://site/all"),
            unknown,
        ])
        #expect(found.places == [.bucket("s3://site/all")])
        #expect(
            found.problems == ["hall: its report is of another version; its archive is left out"])
    }

    @Test func `an archive is read on disk, else in its store, else through its viewer`() throws {
        let viewer = "https://site.example:8443"
        let site = [
            collector("east", viewer: viewer),
            collector("west", store: "s3://site/west", viewer: viewer),
            collector("yard", viewer: viewer), collector("hall"),
        ]
        let found = archives(site, here: ["east"], readsViewers: true)
        #expect(
            found.places == [
                .directory("/srv/east", bucket: nil), .bucket("s3://site/west"),
                .viewer(try ViewerAddress(viewer), archive: "id-yard", collector: "yard"),
            ])
        #expect(
            found.problems == [
                "hall: its archive is on hall.example in /srv/hall, and in no object store; it is left out"
            ])
        let without = archives(site, here: ["east"])
        #expect(without.places.count == 2)
        #expect(
            without.problems.first
                == "yard: its archive is on yard.example in /srv/yard; it is left out: give --site-token-file to read it through https://site.example:8443"
        )
    }

    @Test func `the viewer of an archive whose store is not used shows the archive's disk`()
        throws
    {
        let site = [
            collector(
                "west", store: "s3://site/west", endpoint: "https://store.example",
                viewer: "https://west.example")
        ]
        let found = archives(site, readsViewers: true)
        #expect(
            found.places == [
                .viewer(
                    try ViewerAddress("https://west.example"), archive: "id-west",
                    collector: "west")
            ])
        #expect(
            found.problems == [
                "west: what has moved into s3://site/west is left out: give --store-endpoint https://store.example"
            ])
    }

    @Test func `an archive is changed on its disk or through its viewer, not in its store`() throws
    {
        let site = [
            collector("east", store: "s3://site/east"),
            collector("west", store: "s3://site/west", viewer: "https://west.example"),
            collector("yard", store: "s3://site/yard"),
        ]
        let found = SiteArchives(
            site, endpoint: nil, readsViewers: true, isForChanges: true
        ) { $0 == "/srv/east" ? "id-east" : nil }
        #expect(
            found.places == [
                .directory("/srv/east", bucket: nil),
                .viewer(
                    try ViewerAddress("https://west.example"), archive: "id-west",
                    collector: "west"),
            ])
        #expect(
            found.problems == [
                "yard: its archive is on yard.example in /srv/yard; it is left out: start its collector with --viewer-url, so that it can be changed from here"
            ])
    }

    @Test func `a viewer on another machine is not asked without TLS`() {
        let found = archives(
            [collector("west", viewer: "http://west.example")], readsViewers: true)
        #expect(found.places == [])
        #expect(
            found.problems == [
                "west: its archive is left out: the address of its viewer is http:// of another machine: give that viewer a certificate, and write https://"
            ])
    }
}
