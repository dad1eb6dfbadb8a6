# Runs the test files named, under the parser and scheduler of Perl's own tests (prove, TAP::Harness).
# A file whose second line begins with "# alone:" measures the machine, or times things: nothing
# runs beside it. The others run side by side, one more than there are CPUs: they wait more than
# they compute. A Lua test's second line may name the versions it is for: "-- lua: lua5.1 lua5.4".
use strict;
use warnings;
use TAP::Harness;
use TAP::Parser::Aggregator;

$| = 1;
my (%command, %output, @together, @alone, @failures);
my ($passed, $failed, $skipped) = (0, 0, 0);

# Not every Debian has every Lua; the agent's own is not left out in silence.
sub absent {
	my $lua = shift;
	return $lua ne 'lua5.4' && !grep { -x "$_/$lua" } split(/:/, $ENV{PATH});
}

# C units of another architecture: RUN_UNDER="qemu-aarch64".
my @under = split ' ', $ENV{RUN_UNDER} // '';

# A name and its command; text is TAP already.
sub programs {
	my ($file, $second) = @_;
	return ([$file, [qw(bats --tap --print-output-on-failure), $file]]) if $file =~ /\.bats$/;
	return ([$file, ['env', 'CMOCKA_MESSAGE_OUTPUT=TAP', @under, "build/$1"]]) if $file =~ /^(.*)\.c$/;
	die "run.sh: $file: not a test\n" if $file !~ /\.lua$/;
	my @versions = $second =~ /^-- lua: (.*)/ ? split(' ', $1) : 'lua5.4';
	return map { ["$file($_)", absent($_) ? "1..1\nok 1 $file # skip $_ is not installed\n" : [$_, $file]] } @versions;
}

# A program that dies before its plan is done has failed, whatever it had printed.
sub ended {
	my ($name, $parser) = ($_[0][0], $_[1]);
	my @not_ok = grep { /^not ok/ } split /^/, $output{$name};
	my ($wait, @errors) = ($parser->wait, $parser->parse_errors);
	push @errors, $wait & 127 ? 'signal ' . ($wait & 127) : "exit " . ($wait >> 8) if $wait && (@errors || !@not_ok);
	push @not_ok, "not ok - ended early: " . join('; ', @errors) . "\n" if @errors;
	$passed += $parser->passed - $parser->skipped;
	$skipped += $parser->skipped;
	$failed += @not_ok;
	push @failures, map { "$name: $_" } @not_ok;
	print "== $name\n", $output{$name}, @errors ? $not_ok[-1] : ();
}

for my $file (@ARGV) {
	open(my $in, '<', $file) or die "run.sh: $file: $!\n";
	my $second = (<$in>, <$in>)[1] // '';
	for my $program (programs($file, $second)) {
		$command{$program->[0]} = $program->[1];
		push @{$second =~ /^# alone: / ? \@alone : \@together}, $program->[0];
	}
}
my $harness = TAP::Harness->new({ verbosity => -3, merge => 1, exec => sub { $command{$_[1]} } });
$harness->callback(made_parser => sub {
	my ($parser, $name) = ($_[0], $_[1][0]);
	$parser->callback(ALL => sub { $output{$name} .= $_[0]->raw . "\n" unless $_[0]->is_plan });
});
$harness->callback(after_test => \&ended);
my $all = TAP::Parser::Aggregator->new;
$harness->jobs(1 + `nproc`);
$harness->aggregate_tests($all, @together);
$harness->jobs(1);
$harness->aggregate_tests($all, @alone);
print "\nfailed:\n", map { "  $_" } @failures if @failures;
print "$passed passed, $failed failed, $skipped skipped\n";
exit($failed || !$passed ? 1 : 0);
