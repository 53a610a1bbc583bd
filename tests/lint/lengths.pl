# lengths.pl FILE... -- prints where a text in quotes is followed by its length, counted by hand.
use strict;
use warnings;

# What takes a name and a number, which may be equal by chance.
my $named = qr/\bgp_svg_int$/;

sub bytes_of {
    my ($text) = @_;
    $text =~ s/\\(?:x[0-9A-Fa-f]+|[0-7]{1,3}|.)/-/g;
    return length $text;
}

for my $file (@ARGV) {
    open my $in, '<', $file or die "$file: $!\n";
    while (my $line = <$in>) {
        while ($line =~ /(\w*)(\(?[^"(]*)"((?:[^"\\]|\\.)+)",\s*(?:([0-9]+)\b|(strlen\("|sizeof "))/g) {
            my ($name, $text, $n) = ($1, $3, $4);
            next if defined $n && (bytes_of($text) != $n || $name =~ $named);
            print "$file:$.: the length of \"$text\" is counted by hand: GP_TEXT() or a function of str.h knows it\n";
        }
    }
    close $in;
}
