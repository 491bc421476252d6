package import ArgumentParser

/// Options from a file, and whether they are right, for programs that run as services.
package struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            """
            Read options from a YAML file, a line 'name: value' for each. What the command line or the environment says \
            wins over it.
            """, valueName: "file"))
    package var path: String?

    @Flag(
        name: .customLong("check-config"),
        help: "Only say whether these options are right, and end.")
    package var checks = false

    package init() {}
}
