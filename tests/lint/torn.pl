# torn.pl FILE... -- prints where a comment behind code has torn that code or itself: the formatter breaks a line that
# its comment makes too long, and leaves a type, or the head of a call, alone on the line before.
use strict;
use warnings;

my $width = 110;

# The code of a line, without its comment, the backslash of a macro and the spaces at the end; and its comment.
sub halves {
    my ($line) = @_;
    $line =~ s/\s*\\$//;
    (my $blind = $line) =~ s/("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/'"' x length $1/ge;
    my $at = $blind =~ m{/[*/]} ? $-[0] : length $line;
    my $code = substr $line, 0, $at;
    $code =~ s/\s+$//;
    return ($code, substr($blind, 0, length $code), substr $line, $at);
}

# Only a type, whose name comes in a later line.
sub is_type {
    my ($blind) = @_;
    return $blind =~ /^\s+[\w\s*]*[\w*]$/ && $blind !~ /^\s*(else|do|return|[A-Z0-9_]+)$/;
}

# Whether CODE goes on in the next line: with a word (a type), with another name or inside parentheses.
sub is_open {
    my ($blind) = @_;
    return 0 if $blind =~ /^\s*#/ || $blind !~ /\S/;
    return 1 if is_type($blind) || $blind =~ /^\s+(?:\w+\s+)+\**\w+(?:\[\w+\])?(?:, [\w\s*\[\],]*)?,$/;
    return ($blind =~ tr/(//) > ($blind =~ tr/)//);
}

for my $file (@ARGV) {
    open my $in, '<', $file or die "$file: $!\n";
    my ($before, $before_blind, $before_comment, $inside) = ('', '', '', 0);
    while (my $line = <$in>) {
        chomp $line;
        if ($inside) {
            $inside = 0 if $line =~ m{\*/};
            next;
        }
        my ($code, $blind, $comment) = halves($line);
        $inside = $comment =~ m{^/\*} && $comment !~ m{\*/};
        print "$file:$.: this comment goes on in the next line: put it above the code\n" if $code ne '' && $inside;
        if ($code eq '' && $comment ne '' && $before_comment eq '' && is_type($before_blind)) {
            print "$file:$.: this comment tears a type from its name\n";
        }
        if ($code ne '' && $comment ne '' && $before_comment eq '' && is_open($before_blind)) {
            (my $rest = $code) =~ s/^\s+//;
            print "$file:$.: its comment has torn this line from the one before\n"
                if length("$before $rest") <= $width;
        }
        ($before, $before_blind, $before_comment) = ($code, $blind, $comment);
    }
    close $in;
}
